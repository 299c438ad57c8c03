// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
//
// The entry points that Slurm looks up. No exception leaves them.
#include <exception>

#include "hooks.hpp"

// SPANK_PLUGIN() is C: in C++ its constants would have internal linkage, and Slurm would find no plugin.
extern "C" {
#define DET_EXPORTED __attribute__((visibility("default")))
DET_EXPORTED extern char const plugin_name[] = "det";
DET_EXPORTED extern char const plugin_type[] = "spank";
DET_EXPORTED extern unsigned int const plugin_version = SLURM_VERSION_NUMBER;
DET_EXPORTED extern unsigned int const spank_plugin_version = 1;
DET_EXPORTED int slurm_spank_init(spank_t job, int argc, char** argv);
DET_EXPORTED int slurm_spank_local_user_init(spank_t job, int argc, char** argv);
DET_EXPORTED int slurm_spank_task_init(spank_t job, int argc, char** argv);
}

namespace {

constexpr int failed = -1;  // before 25.05 Slurm takes positive codes for success

enum class Reporting { yes, no };

/// Runs a hook and turns an error or an exception into a message for the user and a code for Slurm.
template <class Hook>
int run_hook(Hook hook, Reporting reporting = Reporting::yes) noexcept {
    try {
        auto const status = hook();
        if (status) return ESPANK_SUCCESS;
        auto const& error = status.error();
        if (reporting == Reporting::yes)
            slurm_error("det: %s%s%s", error.message.c_str(), error.hint.empty() ? "" : "; ",
                        error.hint.c_str());
    } catch (std::exception const& surprise) {
        slurm_error("det: internal error: %s", surprise.what());
    } catch (...) {
        slurm_error("det: internal error");
    }
    return failed;
}

det::Result<det::spank::Settings> settings_of(int argc, char** argv) {
    std::vector<std::string_view> arguments;
    for (int i = 0; i < argc && argv != nullptr && argv[i] != nullptr; ++i) arguments.emplace_back(argv[i]);
    return det::spank::parse_settings(arguments);
}

/// Slurm calls this for each option: in srun, sbatch and salloc, where an invalid option ends the command,
/// and again on each node. On a node it reports nothing, because an error before task_init would drain the
/// node; task_init reads all options again.
int on_option(int option, char const* value, int remote) {
    if (remote != 0) return ESPANK_SUCCESS;
    return run_hook([&] {
        return det::spank::check_option(static_cast<det::spank::Option>(option),
                                        value == nullptr ? "" : value);
    });
}

}  // namespace

extern "C" int slurm_spank_init(spank_t job, int, char**) {
    run_hook([&]() -> det::Status {
        if (!det::spank::SpankHandle::supports_options()) return det::Ok{};
        return det::spank::SpankHandle(job).register_options(on_option);
    });
    return ESPANK_SUCCESS;  // the job works without the plugin, and a failure here would drain the node
}

extern "C" int slurm_spank_local_user_init(spank_t job, int argc, char** argv) {
    return run_hook([&]() -> det::Status {
        DET_TRY_ASSIGN(auto const settings, settings_of(argc, argv));
        return det::spank::on_local_user_init(det::spank::SpankHandle(job), settings);
    });
}

extern "C" int slurm_spank_task_init(spank_t job, int argc, char** argv) {
    det::spank::SpankHandle const host(job);
    // Errors come from the options, the settings and the step's environment, which are the same for all
    // tasks of a node, so only one of them reports its error.
    auto const reporting = host.local_task().value_or(0) == 0 ? Reporting::yes : Reporting::no;
    return run_hook(
        [&]() -> det::Status {
            DET_TRY_ASSIGN(auto const settings, settings_of(argc, argv));
            return det::spank::on_task_init(host, settings);
        },
        reporting);
}
