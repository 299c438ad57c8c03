#include "launch_directory.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::core {

namespace {

/// What a launcher gives its ranks and no other job on this node has at the same time.
struct JobName {
    std::string_view rank;
    std::string_view name;
};
constexpr JobName job_names[] = {
    {"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"},
    {"HOROVOD_RANK", "HOROVOD_GLOO_RENDEZVOUS_PORT"},
    {"RANK", "MASTER_PORT"},  // torchrun, deepspeed
};

}  // namespace

std::optional<std::filesystem::path> find_launch_directory(Environment const& environment) {
    auto const* const known = std::ranges::find_if(
        job_names, [&](auto const& each) { return environment.find(each.rank).has_value(); });
    if (known == std::end(job_names) || environment.find_non_empty("DET_TRANSPORT")) return std::nullopt;
    auto job = environment.find_non_empty(known->name);
    if (!job) return std::nullopt;
    std::ranges::replace(*job, '/', '_');
    auto const parent = environment.find_non_empty("TMPDIR").value_or("/tmp");
    return std::filesystem::path(parent) / fmt::format("det-{}-{}", ::getuid(), *job);
}

std::string meeting_name(Environment const& environment) {
    // By ssh horovodrun starts each rank in a step of its own.
    auto const port = environment.find("HOROVOD_RANK")
                          ? environment.find_non_empty("HOROVOD_GLOO_RENDEZVOUS_PORT")
                          : std::nullopt;
    if (port) return fmt::format("ranks-port-{}.socket", *port);
    return fmt::format("ranks-{}.socket", environment.find("SLURM_STEP_ID").value_or("0"));
}

Status make_private_directory(std::filesystem::path const& path) {
    DET_TRY(make_directory(path));
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0)
        return os_error(fmt::format("look at '{}'", path.string()), errno);
    constexpr mode_t others = 077;
    if (S_ISDIR(found.st_mode) && found.st_uid == ::getuid() && (found.st_mode & others) == 0) return Ok{};
    return Error{codes::unsafe_owner, fmt::format("'{}' is not this user's alone", path.string()),
                 "remove it, or set TMPDIR to a directory of your own"};
}

}  // namespace det::core
