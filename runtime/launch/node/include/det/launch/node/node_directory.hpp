#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace det::launch::node {

/// Whether a file system of this type (statfs's f_type) is shared by several nodes.
bool is_shared_by_nodes(std::uint32_t file_system_magic);

/// The name of the directory of a run (or of a cache) below `base`. The name is the same on every node,
/// because a launcher starts ranks on other nodes in the path of its own working directory. Only if several
/// nodes share `base` does it contain the node's name.
std::string local_directory_name(std::filesystem::path const& base, std::string const& run_key,
                                 std::string const& node);

/// This user's directory below `base`: det-UID, or det-UID-<local_suffix> unless that is empty.
std::filesystem::path users_directory(std::filesystem::path const& base,
                                      std::string const& local_suffix = {});
/// Makes it, so that no other user can enter it. codes::unsafe_owner if another user has the name.
Result<std::filesystem::path> make_users_directory(std::filesystem::path const& base,
                                                   std::string const& local_suffix = {});
/// Whether the directory is there, and no other user can have put anything below it.
bool is_own_directory(std::filesystem::path const& path);

/// DET_RUN_DIR: a private directory per run and node, shared by all processes of the run there. The first
/// process prepares it while the others wait; the last one removes it. There are two lock files
/// beside it: each process holds a shared lock of <key>.users until it ends or is killed; processes enter and
/// leave under an exclusive lock of <key>.gate.
class NodeDirectory {
public:
    using Prepare = std::function<Status(std::filesystem::path const&)>;
    using Leave = std::function<void(std::filesystem::path const&)>;

    /// \param base a local directory, for example /tmp; a directory det-UID below it belongs to this user.
    /// \param key names the run.
    /// \param prepare called by the first process, and by the next one if the first has not completed it.
    /// \param local_suffix random, the same for all processes of the run, or empty: if another user has taken
    ///     the name det-UID, uses det-UID-<local_suffix> instead, which the last process removes. What killed
    ///     runs have left in such directories, the first process of the next run removes.
    /// \param on_leave called by the last process, unless it is killed, before the directory is removed.
    static Result<NodeDirectory> enter(std::filesystem::path const& base, std::string const& key,
                                       Prepare const& prepare, Leave on_leave = {},
                                       std::string const& local_suffix = {});

    NodeDirectory(NodeDirectory&&) noexcept = default;
    NodeDirectory& operator=(NodeDirectory&&) = delete;
    ~NodeDirectory();

    std::filesystem::path const& path() const { return path_; }

private:
    NodeDirectory(std::filesystem::path path, UniqueFd users, Leave on_leave, bool is_parent_of_job)
        : path_(std::move(path)),
          users_(std::move(users)),
          on_leave_(std::move(on_leave)),
          is_parent_of_job_(is_parent_of_job) {}

    std::filesystem::path path_;
    UniqueFd users_;
    Leave on_leave_;
    bool is_parent_of_job_;  // the directory above is det-UID-<local_suffix>
};

}  // namespace det::launch::node
