// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
//
// The entry points that Slurm looks up. No exception leaves them.
#include <det/foundation/text.hpp>

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

/// A text that may contain what the job's owner has written, for slurmd's log: one line of limited length.
std::string loggable(std::string_view text) {
    constexpr std::size_t size_max_bytes = 400;
    auto const line = det::escape_control(text.substr(0, size_max_bytes));
    return text.size() > size_max_bytes ? line + "..." : line;
}

void log_error(std::string_view message, std::string_view hint = {}) {
    slurm_error("det: %s%s%s", loggable(message).c_str(), hint.empty() ? "" : "; ", loggable(hint).c_str());
}

/// Runs a hook and turns an error or an exception into a message for the user and a code for Slurm.
template <class Hook>
int run_hook(Hook hook, Reporting reporting = Reporting::yes) noexcept {
    try {
        auto const status = hook();
        if (status) return ESPANK_SUCCESS;
        auto const& error = status.error();
        if (reporting == Reporting::yes) log_error(error.message, error.hint);
    } catch (std::exception const& surprise) {
        slurm_error("det: internal error: %.400s", surprise.what());
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
