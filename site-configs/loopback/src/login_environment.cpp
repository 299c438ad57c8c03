#include "login_environment.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "process_handle.hpp"

namespace det::loopback {
namespace {

bool is_kept(std::string_view name) {
    for (std::string_view const kept : {"TERM", "COLORTERM", "LANG", "NO_COLOR", "TZ"}) {
        if (name == kept) return true;
    }
    return name.starts_with("LC_") || name.starts_with("DET_");
}

}  // namespace

Variables site_variables(ClusterPaths const& paths, SiteProfile const& profile, std::string const& user) {
    Variables variables{
        {"DET_LOOPBACK_DIR", paths.state().string()},
        {"PATH", fmt::format("{}:{}", (paths.software() / "bin").string(), system_path)},
        {"SLURM_CONF", paths.slurm_conf().string()},
        // There may be more ranks than CPUs, and srun does not tell Open MPI so. Without this, 16 ranks on 2
        // CPUs are 20 times slower.
        {"OMPI_MCA_mpi_yield_when_idle", "1"},
        // Open MPI 4.1.4 started by srun may crash in MPI_Init when a peer's first message arrives over its
        // TCP BTL too early (open-mpi/ompi issue 12495; 1 start of 20 under load). UCX's TCP did not crash.
        {"OMPI_MCA_pml", "ucx"},
        {"OMPI_MCA_btl", "^tcp"},
        {"OMPI_MCA_opal_common_ucx_tls", "any"},
        {"OMPI_MCA_opal_common_ucx_devices", "any"},
        {"UCX_TLS", "tcp,self,posix,sysv"},
    };
    // A DET_ROOT belongs to one user, here researcher; root may use it too. Others get the default, below their home.
    if (user == researcher || user == "root") variables.emplace_back("DET_ROOT", paths.det_root().string());
    if (user == researcher) {
        variables.insert(variables.end(), profile.user_variables.begin(), profile.user_variables.end());
    }
    return variables;
}

std::string render_exports(Variables const& variables) {
    std::string text;
    for (auto const& [name, value] : variables) {
        text += fmt::format("export {}={}\n", name, quote_for_shell(value));
    }
    return text;
}

Environment login_environment(Environment const& caller, Account const& account, ClusterPaths const& paths,
                              SiteProfile const& profile) {
    Environment environment;
    for (auto const& line : caller.to_list()) {
        auto const equals = line.find('=');
        auto name = line.substr(0, equals);
        if (is_kept(name)) environment.set(std::move(name), line.substr(equals + 1));
    }
    environment.unset("DET_ROOT");
    environment.set("HOME", account.home);
    environment.set("USER", account.name);
    environment.set("LOGNAME", account.name);
    environment.set("SHELL", account.shell);
    for (auto const& [name, value] : site_variables(paths, profile, account.name))
        environment.set(name, value);
    return environment;
}

}  // namespace det::loopback
