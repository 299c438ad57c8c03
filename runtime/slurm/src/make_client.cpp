#include <det/foundation/executable.hpp>
#include <det/slurm/make_client.hpp>

#include <fmt/format.h>

#include "libslurm_client.hpp"

namespace det::slurm {
namespace {

constexpr char variable[] = "DET_SLURM_BACKEND";

/// The module in <prefix>/lib if this program is in <prefix>/bin, as in the build tree too.
std::filesystem::path module_file() {
    return own_executable().parent_path().parent_path() / "lib" / "det_libslurm.so";
}

}  // namespace

Result<std::unique_ptr<SlurmClient>> make_client(ProcessRunner& runner, Environment const& environment,
                                                 Clock& clock) {
    using Client = std::unique_ptr<SlurmClient>;
    // A job submitted to one cluster and held, released or cancelled in another one would be a different job.
    if (auto const clusters = environment.find_non_empty("SLURM_CLUSTERS")) {
        return Error{
            codes::usage,
            fmt::format("SLURM_CLUSTERS is '{}', but det-submit works with one cluster only: that of "
                        "Slurm's configuration",
                        *clusters),
            "unset it, and run det-submit on a login node of that cluster, or set SLURM_CONF"};
    }
    DET_TRY_ASSIGN(auto const timeouts, parse_call_timeouts(environment));
    auto const wanted = environment.find_non_empty(variable);
    if (wanted == "commands") return Client(new CommandClient(runner, environment, clock, timeouts));
    if (wanted && wanted != "libslurm") {
        return Error{codes::usage, fmt::format("{} is '{}'", variable, *wanted),
                     "set it to 'commands' or 'libslurm', or leave it unset"};
    }
    using enum LibslurmOptions::Fallback;
    return Client(
        new LibslurmClient(runner, environment, clock, {module_file(), wanted ? error : commands, timeouts}));
}

}  // namespace det::slurm
