#include "transports.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fnmatch.h>
#include <vector>

namespace det::transport::ucx {
namespace {

constexpr std::string_view tcp = "tcp";
constexpr std::string_view all = "all";
constexpr std::string_view of_one_node[] = {"self",     "sm",       "shm",       "mm",       "posix",
                                            "sysv",     "cma",      "knem",      "xpmem",    "cuda_copy",
                                            "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "rocm_gdr"};

/// The names of a list. A backslash before a name excludes the transports that UCX needs beside it.
std::vector<std::string> names_of(std::string_view list) {
    std::vector<std::string> names;
    for (auto const piece : split(list, ',')) {
        auto name = trim(piece);
        if (name.starts_with('\\')) name.remove_prefix(1);
        if (!name.empty()) names.emplace_back(name);
    }
    return names;
}

bool is_negated(std::string_view list) { return trim(list).starts_with('^'); }

/// UCX compares names by fnmatch(3).
bool is_tcp(std::string const& name) { return ::fnmatch(name.c_str(), tcp.data(), 0) == 0; }

bool means_all(std::string_view list) {
    auto const names = names_of(list);
    return names.empty() || std::ranges::find(names, all) != names.end();
}

}  // namespace

std::string without_tcp(std::string_view wanted) {
    wanted = trim(wanted);
    if (is_negated(wanted)) return std::string(wanted) + ",tcp";
    if (means_all(wanted)) return "^tcp";
    std::vector<std::string> kept;
    for (auto const piece : split(wanted, ',')) {
        auto const names = names_of(piece);
        if (!names.empty() && !is_tcp(names.front())) kept.emplace_back(trim(piece));
    }
    return kept.empty() ? std::string(transports_of_node) : join(kept, ",");
}

bool names_tcp(std::string_view wanted) {
    return !is_negated(wanted) && !means_all(wanted) && std::ranges::any_of(names_of(wanted), is_tcp);
}

bool reach_other_nodes(std::string_view transports) {
    if (is_negated(transports) || means_all(transports)) return true;
    return std::ranges::any_of(names_of(transports), [](std::string const& name) {
        return std::ranges::find(of_one_node, name) == std::end(of_one_node);
    });
}

}  // namespace det::transport::ucx
