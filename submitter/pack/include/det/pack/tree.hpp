#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace det::pack {

inline constexpr std::uint64_t context_limit_bytes = std::uint64_t{95} << 20;

/// A member of a context. Times, owners and all of the mode but "executable" are left out, so that the same
/// tree always gives the same bytes.
struct Member {
    enum class Kind { file, directory, link };
    Kind kind = Kind::file;
    std::string path;  // relative, '/' between its parts
    std::uint64_t size_bytes = 0;
    bool is_executable = false;
    std::string link_target = {};
};

/// What of a context directory is packed, sorted by path: all but what .detignore and the default patterns
/// leave out. Links that stay inside are kept; one that leads out, a special file, or more than 95 MiB are
/// errors.
Result<std::vector<Member>, Diagnostics> list_context(std::filesystem::path const& directory);

}  // namespace det::pack
