// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
//
// The only file that Slurm sees: C names in, C++ out. Nothing thrown leaves it.
#include <exception>

#include "on_node.hpp"

// SPANK_PLUGIN() is C: in C++ its constants would have internal linkage, and Slurm would find no plugin.
extern "C" {
#define DET_EXPORTED __attribute__((visibility("default")))
DET_EXPORTED extern char const plugin_name[] = "det";
DET_EXPORTED extern char const plugin_type[] = "spank";
DET_EXPORTED extern unsigned int const plugin_version = SLURM_VERSION_NUMBER;
DET_EXPORTED extern unsigned int const spank_plugin_version = 1;
DET_EXPORTED int slurm_spank_task_init(spank_t job, int argc, char** argv);
}

namespace {

/// A failing hook is told in the task's output and does no harm: what the plugin adds, the wrapper of a
/// generated job does as well. (An error in user_init or task_post_fork would drain the node, so that there
/// is none there; and before 24.11 Slurm ignores positive codes.)
template <class Hook>
int guarded(char const* name, Hook hook) noexcept {
    try {
        if (auto const status = hook(); !status) {
            slurm_error("det: %s: %s", name, status.error().message.c_str());
        }
    } catch (std::exception const& surprise) {
        slurm_error("det: %s: internal error: %s", name, surprise.what());
    } catch (...) {
        slurm_error("det: %s: internal error", name);
    }
    return ESPANK_SUCCESS;
}

}  // namespace

extern "C" int slurm_spank_task_init(spank_t job, int argc, char** argv) {
    return guarded("task_init", [&]() -> det::Status {
        DET_TRY_ASSIGN(auto const settings, det::spank::parse_settings({argv, argv + argc}));
        return det::spank::on_task_init(det::spank::Host(job), settings);
    });
}
