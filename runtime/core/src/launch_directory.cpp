#include "launch_directory.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/launcher_environment.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::core {
namespace {

LauncherEnvironment const* find_launcher(Environment const& environment) {
    return find_launcher_environment([&](std::string_view name) { return environment.find(name); });
}

std::optional<std::string> find_job(LauncherEnvironment const* launcher, Environment const& environment) {
    return launcher != nullptr ? environment.find_non_empty(launcher->job) : std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> find_launch_directory(Environment const& environment) {
    auto job = find_job(find_launcher(environment), environment);
    if (!job || environment.find_non_empty("DET_TRANSPORT")) return std::nullopt;
    return launch_directory(environment, *std::move(job));
}

std::filesystem::path launch_directory(Environment const& environment, std::string group) {
    std::ranges::replace(group, '/', '_');
    auto const parent = environment.find_non_empty("TMPDIR").value_or("/tmp");
    return std::filesystem::path(parent) / fmt::format("det-{}-{}", ::getuid(), group);
}

std::string socket_name_of_group(std::string group) {
    std::ranges::replace(group, '/', '_');
    return fmt::format("group-{}.socket", group);
}

std::string rendezvous_socket_name(Environment const& environment) {
    auto const* const launcher = find_launcher(environment);
    auto const job = find_job(launcher, environment);
    if (job && launcher->starts_ranks_in_steps) return fmt::format("ranks-port-{}.socket", *job);
    return fmt::format("ranks-{}.socket", environment.find("SLURM_STEP_ID").value_or("0"));
}

Result<std::filesystem::path> find_rendezvous_directory(Environment const& environment) {
    using std::filesystem::path;
    if (auto const chosen = environment.find_non_empty(rendezvous_variable))
        return path(*chosen) / fmt::format("det-ranks-{}", ::getuid());
    if (auto const home = environment.find_non_empty("HOME"))
        return path(*home) / ".cache" / "det-submit" / "ranks";
    return Error{codes::misuse, "ranks on several nodes find each other by a file, and HOME is not set",
                 fmt::format("set {} to a directory that the nodes share", rendezvous_variable)};
}

std::string rendezvous_name(std::string const& group, std::string const& chief_address) {
    auto name = fmt::format("{}@{}", group, chief_address);
    std::ranges::replace(name, '/', '_');
    return name;
}

Status make_private_directory(std::filesystem::path const& path) {
    struct stat found {};
    do {  // repeats if ranks of an earlier group have removed the directory in between
        DET_TRY(make_directory(path));
        if (::lstat(path.c_str(), &found) == 0) break;
        if (errno != ENOENT) return os_error(fmt::format("look at '{}'", path.string()), errno);
    } while (true);
    constexpr mode_t others = 077;
    if (S_ISDIR(found.st_mode) && found.st_uid == ::getuid() && (found.st_mode & others) == 0) return Ok{};
    return Error{codes::unsafe_owner, fmt::format("'{}' is not this user's alone", path.string()),
                 "remove it, or set TMPDIR to a directory of your own"};
}

}  // namespace det::core
