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

/// Where an experiment's code comes from.
struct ContextSources {
    std::optional<std::filesystem::path> directory;  // what is in it is at the root of the context
    std::vector<std::filesystem::path> includes;     // files and directories, at the root by their own names
};

/// A member of a context. Times, owners and all of the mode but "executable" are left out, so that the same
/// tree always gives the same bytes.
struct Member {
    enum class Kind { file, directory, link };
    Kind kind = Kind::file;
    std::string path;  // in the context, '/' between its parts: bytes, not always UTF-8
    std::uint64_t size_bytes = 0;
    bool is_executable = false;
    std::string link_target = {};
    std::size_t source = 0;  // which of the tree's
};

/// One of the places that members come from: `path` on disk is `name` in the context, or its root where that
/// is empty.
struct Source {
    std::filesystem::path path;
    std::string name;
    bool is_directory = true;
};

/// What is to be packed.
struct ContextTree {
    std::vector<Source> sources;
    std::vector<Member> members;  // sorted by path
    std::uint64_t size_bytes = 0;
    Diagnostics warnings;

    /// Where a member lies on disk.
    std::string disk_path(Member const& member) const;
};

/// Lists all but what each directory's .detignore and the default patterns leave out. Nothing is read but
/// names and sizes. Links that stay inside are kept, those that lead nowhere are warnings; a link that leads
/// out, a special file, a file that can't be read, two things of one name, or more than 95 MiB are errors.
Result<ContextTree, Diagnostics> list_context(ContextSources const& sources);

}  // namespace det::pack
