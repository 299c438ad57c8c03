#pragma once
#include <det/foundation/files.hpp>
#include <det/pack/context_tree.hpp>

#include <map>
#include <sys/stat.h>

#include "ignore.hpp"

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

/// The default patterns, and those of the .detignore of a source that is a directory.
Result<IgnoreRules> read_ignore_rules(Source const& source);

/// Adds the members of one source to a tree, in directory order.
class Walk {
public:
    /// \param rules those of the source, or of the source from which a link leads to it
    Walk(ContextTree& tree, std::size_t source, IgnoreRules const& rules, Findings& findings);

    /// An error ends the listing; errors of single entries are reported to the Findings.
    Status run();

private:
    Status run_directory();
    Status list(std::string const& directory);
    Status visit(int parent, std::string const& name, std::string path);
    void add(std::string path, struct stat const& info);
    void leave_out(std::string const& path);
    void add_link(int parent, std::string const& name, std::string path);
    void check_readable(int parent, std::string const& name, std::string const& path,
                        struct stat const& info);
    void check_writers(int parent, std::string const& name, std::string const& path, struct stat const& info);
    bool is_private(gid_t group);
    bool is_ignored(std::string const& path, EntryKind kind) const;
    std::string place(std::string const& path) const;

    ContextTree& tree_;
    std::size_t source_;
    Findings& findings_;
    IgnoreRules const& rules_;
    std::string rules_prefix_;  // before a path, for the rules
    UniqueFd root_;
    uid_t user_;                            // the effective user
    std::map<gid_t, bool> private_groups_;  // the answers of the user database
    std::vector<std::string> pending_;      // directories to list
};

}  // namespace det::pack
