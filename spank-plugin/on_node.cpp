// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#include "on_node.hpp"

#include <det/protocol/step_run.hpp>

namespace det::spank {
namespace {

/// Slurm numbers its own steps (batch, extern, interactive) from here on.
constexpr std::uint32_t first_special_step = 0xfffffff0;

/// In a step that belongs to a run already, everything but the ranks' variables is known.
Variables variables_in_run(TaskIdentity const& task, VariableLookup const& lookup) {
    return lookup(variables::launch) == "rank" ? rank_variables(task) : Variables{};
}

Variables variables_of_script(TaskIdentity const& task, Wishes const& wishes, VariableLookup const& lookup) {
    auto const asked = parse_launch(lookup(variables::launch).value_or(""));
    auto told = step_run_variables(task, wishes.launch.value_or(asked.value_or(Launch::rank)), lookup);
    if (!wishes.log.empty()) {
        auto const node = lookup("SLURMD_NODENAME").value_or(std::to_string(task.cross_rank));
        told.emplace_back(variables::rank_log, expand_log_path(wishes.log, task, node));
    }
    return told;
}

}  // namespace

Status on_task_init(Host const& host, Settings const& settings) {
    auto const step = host.step_id();
    if (!step || *step >= first_special_step) return Ok{};
    DET_TRY_ASSIGN(auto const wishes, host.find_wishes());
    VariableLookup const lookup = [&](std::string_view name) { return host.find_variable(name); };
    if (!wishes.act.value_or(lookup(variables::spank) == "auto")) return Ok{};

    auto const partition = lookup("SLURM_JOB_PARTITION").value_or("");
    if (!settings.is_active_in(partition)) {
        if (!wishes.act) return Ok{};  // such jobs bring their own wrapper
        return Error{codes::usage, "--det: this site has it off in partition '" + partition + "'"};
    }
    DET_TRY_ASSIGN(auto const task, identify_task(lookup));
    auto const kind = find_step_kind(task, lookup);
    if (kind == StepKind::foreign) {
        if (!wishes.act) return Ok{};  // DET_SPANK came from another job
        bool const inherited = !lookup(variables::run_key).value_or("").empty();
        for (auto const* name : inherited_variables) {
            if (inherited) DET_TRY(host.unset_variable(name));
        }
    }
    auto const told = kind == StepKind::part_of_run ? variables_in_run(task, lookup)
                                                    : variables_of_script(task, wishes, lookup);
    for (auto const& [name, value] : told) DET_TRY(host.set_variable(name, value));
    if (wishes.wrap.value_or(settings.wrap) == Wrap::off) return Ok{};
    if (settings.wrapper.empty()) {
        if (!wishes.wrap && wishes.log.empty()) return Ok{};
        return Error{codes::usage, "--det-wrap and --det-log: plugstack.conf names no wrapper"};
    }
    return host.put_in_front(settings.wrapper);
}

}  // namespace det::spank
