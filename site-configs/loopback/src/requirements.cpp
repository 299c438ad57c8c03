#include "requirements.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "error_codes.hpp"

namespace det::loopback {
namespace {

struct Program {
    char const* name;
    char const* package;  // Debian package
};

constexpr Program programs[] = {
    {"munged", "munge"},       {"slurmctld", "slurmctld"}, {"slurmd", "slurmd"},
    {"sinfo", "slurm-client"}, {"srun", "slurm-client"},   {"ip", "iproute2"},
};

bool is_installed(std::string const& name) {
    constexpr char const* directories[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                           "/usr/bin",        "/sbin",          "/bin"};
    return std::any_of(std::begin(directories), std::end(directories), [&](auto const* directory) {
        return ::access(fmt::format("{}/{}", directory, name).c_str(), X_OK) == 0;
    });
}

}  // namespace

Status require_root() {
    if (::geteuid() == 0) return Ok{};
    return Error{codes::permission,
                 "this needs root: it makes network, mount and PID namespaces, and device nodes",
                 "run it with 'sudo'"};
}

Status require_programs() {
    std::vector<std::string> names, packages;
    for (auto const& program : programs) {
        if (is_installed(program.name)) continue;
        names.emplace_back(program.name);
        if (packages.empty() || packages.back() != program.package) packages.emplace_back(program.package);
    }
    if (names.empty()) return Ok{};
    return Error{codes::missing_program, fmt::format("not installed: {}", join(names, ", ")),
                 fmt::format("on Debian run 'apt-get install {}'", join(packages, " "))};
}

}  // namespace det::loopback
