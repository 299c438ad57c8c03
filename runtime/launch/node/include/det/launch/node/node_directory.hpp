#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace det::launch::node {

/// Whether a file system of this kind (statfs's f_type) is seen by other nodes too.
bool is_shared_by_nodes(std::uint32_t file_system_magic);

/// The name of a run's directory below base. It is the same on every node, because launchers start ranks on
/// other nodes in the directory that they are in themselves; only where nodes share base, it names the node
/// too.
std::string run_directory_key(std::filesystem::path const& base, std::string const& run_key,
                              std::string const& node);

/// DET_RUN_DIR: one private directory per run and node, shared by all its processes there. Whoever comes
/// first prepares it while the others wait; whoever leaves last removes it. Two locks beside it: everybody
/// inside holds <key>.users shared for as long as he lives, however he ends; coming and leaving is done under
/// <key>.gate.
class NodeDirectory {
public:
    using Prepare = std::function<Status(std::filesystem::path const&)>;
    using Leave = std::function<void(std::filesystem::path const&)>;

    /// base: a directory of the node, for example /tmp; one below it belongs to this user alone. key: names
    /// the run. on_leave: called before the directory goes, by whoever is last.
    static Result<NodeDirectory> enter(std::filesystem::path const& base, std::string const& key,
                                       Prepare const& prepare, Leave on_leave = {});

    NodeDirectory(NodeDirectory&&) noexcept = default;
    NodeDirectory& operator=(NodeDirectory&&) = delete;
    ~NodeDirectory();

    std::filesystem::path const& path() const { return path_; }

private:
    NodeDirectory(std::filesystem::path path, UniqueFd users, Leave on_leave)
        : path_(std::move(path)), users_(std::move(users)), on_leave_(std::move(on_leave)) {}

    std::filesystem::path path_;
    UniqueFd users_;
    Leave on_leave_;
};

}  // namespace det::launch::node
