#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::pack {

inline constexpr std::uint64_t context_limit_bytes = std::uint64_t{95} << 20;

/// The sources of an experiment's code.
struct ContextSources {
    std::optional<std::filesystem::path> directory;  // its contents are at the root of the context
    std::vector<std::filesystem::path> includes;  // files and directories, at the root under their own names
};

/// A member of a context. It has no times, owners or modes other than "executable", so that the same tree
/// always gives the same bytes.
struct Member {
    enum class Kind { file, directory, link };
    Kind kind = Kind::file;
    std::string path;  // in the context, '/' between its parts: bytes, not always UTF-8
    std::uint64_t size_bytes = 0;
    bool is_executable = false;
    std::string link_target = {};
    std::size_t source = 0;  // index in the tree's sources
};

/// A source of members: `path` on disk is `name` in the context, or the root of the context if `name` is
/// empty.
struct Source {
    std::filesystem::path path;
    std::string name;
    bool is_directory = true;
    /// Set for what a link out of a source leads to: the index of that source, which the user has named. All
    /// its members belong to the user.
    std::optional<std::size_t> followed_from = {};
};

/// The files and directories of a tree that other users can change: a group can write them, and it is no
/// private group (is_private_group), or a user other than root owns them.
struct SharedMembers {
    std::size_t count = 0;
    std::string first = {};  // path on disk
};

/// The files and directories that .detignore and the default patterns exclude. What is in such a directory
/// does not count.
struct LeftOut {
    static constexpr std::size_t paths_max = 1000;
    std::size_t count = 0;
    std::vector<std::string> paths = {};  // in the context; at most paths_max, in directory order
};

/// The files to pack.
struct ContextTree {
    std::vector<Source> sources;
    std::vector<Member> members;  // sorted by path
    std::uint64_t size_bytes = 0;
    LeftOut left_out = {};
    SharedMembers shared = {};  // members that the user did not name himself
    Diagnostics warnings;

    /// \return The path of a member on disk.
    std::string disk_path(Member const& member) const;
};

/// Lists all files except those that a .detignore or the default patterns exclude. Reads names, sizes and
/// links, but no contents except those of .detignore. Keeps links that lead to members, and dangling links
/// with a warning. In place of a link that leads outside it lists the file or the directory to which the link
/// leads, with a warning; if not all of it belongs to the user, that is an error. A special file, an
/// unreadable file, a file or directory that every user can write, two members of one name, more than 95 MiB,
/// too many files or too long a path are errors.
Result<ContextTree, Diagnostics> list_context(ContextSources const& sources);

}  // namespace det::pack
