#pragma once
#include <det/foundation/files.hpp>
#include <det/pack/context_tree.hpp>
#include <det/pack/ignore.hpp>

#include <sys/stat.h>

namespace det::pack {

// Each member adds a header to the archive, and nodes refuse to unpack an archive above a size limit.
inline constexpr std::size_t members_max = 500'000;
// The kernel accepts 4095 bytes, and the path of a directory on the node precedes it.
inline constexpr std::size_t path_bytes_max = 3800;

/// Collects errors. Keeps only as many as a user can read, and counts the others.
class Findings {
public:
    void report(Error error);
    /// Adds the number of errors that are not reported.
    Diagnostics finish() &&;
    bool empty() const { return count_ == 0; }

private:
    Diagnostics reported_;
    std::size_t count_ = 0;
};

/// Adds the members of one source to a tree, in directory order.
class Walk {
public:
    Walk(ContextTree& tree, std::size_t source, Findings& findings);

    /// An error ends the listing; errors of single entries are reported to the Findings.
    Status run();

private:
    Status run_directory();
    Status list(std::string const& directory);
    Status visit(int parent, std::string const& name, std::string path);
    void add(std::string path, struct stat const& info);
    void add_link(int parent, std::string const& name, std::string path);
    void check_readable(int parent, std::string const& name, std::string const& path,
                        struct stat const& info);
    std::string place(std::string const& path) const;

    ContextTree& tree_;
    std::size_t source_;
    Findings& findings_;
    IgnoreRules rules_ = IgnoreRules::defaults();
    UniqueFd root_;
    uid_t user_;                        // the effective user
    std::vector<std::string> pending_;  // directories to list
};

}  // namespace det::pack
