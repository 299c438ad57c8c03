#pragma once
#include <det/foundation/files.hpp>
#include <det/pack/ignore.hpp>
#include <det/pack/tree.hpp>

#include <sys/stat.h>

namespace det::pack {

// A context is unpacked and read back by nodes, which refuse what is larger than any context: a header each.
inline constexpr std::size_t members_max = 500'000;
// The kernel takes 4095 bytes, and on a node there is a directory before them.
inline constexpr std::size_t path_bytes_max = 3800;

/// What is found wrong, up to a number that people read.
class Findings {
public:
    void report(Error error);
    /// With how many there were beyond those that are told.
    Diagnostics finish() &&;
    bool empty() const { return count_ == 0; }

private:
    Diagnostics reported_;
    std::size_t count_ = 0;
};

/// Adds the members of one source to a tree, in the order in which they are found.
class Walk {
public:
    Walk(ContextTree& tree, std::size_t source, Findings& findings);

    /// An error ends the listing; what is wrong with single entries is reported.
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
    uid_t user_;                        // who we are
    std::vector<std::string> pending_;  // directories that are still to be listed
};

}  // namespace det::pack
