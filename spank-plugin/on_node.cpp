// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#include "on_node.hpp"

#include <det/protocol/step_run.hpp>

namespace det::spank {
namespace {

/// Slurm numbers its own steps (batch, extern, interactive) from here.
constexpr std::uint32_t first_special_step = 0xfffffff0;

/// The variables to set in a step that is part of a run: only those of the rank, because all others are set.
Variables variables_in_run(TaskIdentity const& task, VariableLookup const& lookup) {
    return lookup(variables::launch) == "rank" ? rank_variables(task) : Variables{};
}

Variables variables_of_script(TaskIdentity const& task, PluginOptions const& options,
                              VariableLookup const& lookup) {
    auto const requested = parse_launch(lookup(variables::launch).value_or(""));
    auto variables =
        step_run_variables(task, options.launch.value_or(requested.value_or(Launch::rank)), lookup);
    if (!options.log.empty()) {
        auto const node = lookup("SLURMD_NODENAME").value_or(std::to_string(task.cross_rank));
        variables.emplace_back(variables::rank_log, expand_log_path(options.log, task, node));
    }
    return variables;
}

}  // namespace

Status on_task_init(Host const& host, Settings const& settings) {
    auto const step = host.step_id();
    if (!step || *step >= first_special_step) return Ok{};
    DET_TRY_ASSIGN(auto const options, host.find_options());
    VariableLookup const lookup = [&](std::string_view name) { return host.find_variable(name); };
    if (!options.enabled.value_or(lookup(variables::spank) == "auto")) return Ok{};

    auto const partition = lookup("SLURM_JOB_PARTITION").value_or("");
    if (!settings.is_active_in(partition)) {
        if (!options.enabled) return Ok{};  // the plugin is off here, and no option asks for it
        return Error{codes::usage, "--det: this site has it off in partition '" + partition + "'"};
    }
    DET_TRY_ASSIGN(auto const task, identify_task(lookup));
    auto const kind = find_step_kind(task, lookup);
    if (kind == StepKind::foreign) {
        if (!options.enabled) return Ok{};  // DET_SPANK was inherited from another job
        bool const inherited = !lookup(variables::run_key).value_or("").empty();
        for (auto const* name : inherited_variables) {
            if (inherited) DET_TRY(host.unset_variable(name));
        }
    }
    auto const variables = kind == StepKind::part_of_run ? variables_in_run(task, lookup)
                                                         : variables_of_script(task, options, lookup);
    for (auto const& [name, value] : variables) DET_TRY(host.set_variable(name, value));
    if (options.wrap.value_or(settings.wrap) == Wrap::off) return Ok{};
    if (settings.wrapper.empty()) {
        if (!options.wrap && options.log.empty()) return Ok{};
        return Error{codes::usage, "--det-wrap and --det-log: plugstack.conf names no wrapper"};
    }
    return host.prepend_command(settings.wrapper);
}

}  // namespace det::spank
