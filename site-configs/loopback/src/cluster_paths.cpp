#include "cluster_paths.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <sys/un.h>

#include "error_codes.hpp"

namespace det::loopback {
namespace {

constexpr std::size_t name_length_max = 32;

bool is_name(std::string const& name) {
    auto const allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !name.empty() && name.size() <= name_length_max && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

Result<ClusterPaths> ClusterPaths::make(std::filesystem::path const& base, std::string name) {
    if (!is_name(name)) {
        return Error{codes::usage, fmt::format("'{}' is not a valid cluster name", name),
                     fmt::format("use up to {} of a-z, 0-9 and '-'", name_length_max)};
    }
    std::error_code failed;
    // Symbolic links are resolved: a mount over the target of a link would hide the files below the link.
    auto const resolved = std::filesystem::weakly_canonical(std::filesystem::absolute(base), failed);
    if (failed) return os_error(fmt::format("resolve '{}'", base.string()), failed.value());
    ClusterPaths paths(resolved, std::move(name));
    auto const socket =
        std::max(paths.munge_socket(), paths.mariadb_socket(), [](auto const& a, auto const& b) {
            return a.native().size() < b.native().size();
        }).string();
    if (socket.size() >= sizeof(sockaddr_un{}.sun_path)) {
        return Error{codes::usage, fmt::format("'{}' is too long for the path of a Unix socket", socket),
                     "use a shorter --dir or --name"};
    }
    return paths;
}

std::string ClusterPaths::cgroup_name() const {
    return fmt::format("det-loopback-{}-{}", name_, format_hex32(crc32c(state().string())));
}

Result<std::vector<ClusterPaths>> find_clusters(std::filesystem::path const& base) {
    std::vector<ClusterPaths> clusters;
    DET_TRY_ASSIGN(auto const names, list_directory(base));
    for (auto const& name : names) {
        auto paths = ClusterPaths::make(base, name);
        // --dir may name a directory that has other subdirectories too.
        if (paths && path_exists(paths->log()) && path_exists(paths->shared())) clusters.push_back(*paths);
    }
    return clusters;
}

std::string node_name(int index) { return fmt::format("n{}", index); }

}  // namespace det::loopback
