// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
#include "hooks.hpp"

#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/step_run.hpp>

#include <functional>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "srun_output.hpp"

namespace det::spank {
namespace {

constexpr unsigned ports_tried = 64;

template <class Address>
bool can_bind(int socket, Address const& address) {
    return ::bind(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
}

bool can_bind_ipv6(int socket, std::uint16_t port) {
    int const both_kinds = 0;
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &both_kinds, sizeof both_kinds);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    return can_bind(socket, address);
}

bool can_bind_ipv4(int socket, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    return can_bind(socket, address);
}

/// Whether the port is free on all addresses of this host; true if that can't be determined.
bool is_free(std::uint16_t port) {
    bool free = true;
    if (int const six = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0); six >= 0) {
        free = can_bind_ipv6(six, port);
        ::close(six);
    } else if (int const four = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); four >= 0) {
        free = can_bind_ipv4(four, port);
        ::close(four);
    }
    return free;
}

std::uint16_t choose_port(std::string_view run_key) {
    for (unsigned attempt = 0; attempt < ports_tried; ++attempt) {
        auto const port = master_port(run_key, attempt);
        if (is_free(port)) return port;
    }
    return master_port(run_key, 0);
}

/// Slurm numbers its own steps (batch, extern, interactive) from here.
constexpr std::uint32_t first_special_step = 0xfffffff0;
constexpr std::uint32_t batch_step = 0xfffffffb;

std::optional<std::string> find_srun_variable(std::string_view name) {
    return SpankHandle::find_srun_variable(std::string(name).c_str());
}

/// Returns whether srun or a launcher starts the ranks, in a step that is not part of a run.
Launch choose_launch(PluginOptions const& options, VariableLookup const& lookup) {
    if (options.launch) return *options.launch;
    auto const launch = parse_launch(lookup(variables::launch).value_or("")).value_or(Launch::rank);
    return launch == Launch::script ? Launch::rank : launch;
}

/// Removes the variables that a step inherits from a run of another job.
Status remove_inherited(VariableLookup const& lookup, std::function<Status(char const*)> const& remove) {
    if (lookup(variables::run_key).value_or("").empty()) return Ok{};
    for (auto const* name : inherited_variables) DET_TRY(remove(name));
    return Ok{};
}

/// Removes inherited variables that srun's hook has emptied.
Status remove_emptied(SpankHandle const& host, VariableLookup const& lookup) {
    for (auto const* name : inherited_variables) {
        if (lookup(name) == "") DET_TRY(host.unset_variable(name));
    }
    return Ok{};
}

Variables variables_of_script(TaskIdentity const& task, PluginOptions const& options,
                              VariableLookup const& lookup) {
    auto variables = step_run_variables(task, choose_launch(options, lookup), lookup, options.rank_variables);
    if (!options.log.empty()) {
        auto const node = lookup("SLURMD_NODENAME").value_or(std::to_string(task.cross_rank));
        variables.emplace_back(variables::rank_log, expand_log_path(options.log, task, node));
    }
    return variables;
}

/// Whether srun was called by a task of a step. In the environment of a supervisor, which starts the step of
/// its run, DET_PLACED is not set.
bool is_called_by_task(VariableLookup const& lookup) {
    return !lookup(variables::placed).value_or("").empty();
}

/// Tells srun in which files the batch script writes.
Status record_job_output(SpankHandle const& host, PluginOptions const& options) {
    auto const job = host.job_id();
    if (!options.enabled.value_or(false) || !job) return Ok{};
    return host.set_variable(variables::job_output, render_job_output(std::to_string(*job)));
}

/// Lets det-launch run the batch script of a job with --det-requeue.
Status prepare_batch_script(SpankHandle const& host, Settings const& settings) {
    DET_TRY_ASSIGN(auto const options, host.find_options());
    DET_TRY(record_job_output(host, options));
    if (!options.is_requeued) return Ok{};
    if (settings.wrapper.empty())
        return Error{codes::usage, "--det-requeue: plugstack.conf names no wrapper"};
    auto const partition = host.find_variable("SLURM_JOB_PARTITION").value_or("");
    if (!settings.is_active_in(partition))
        return Error{codes::usage, "--det-requeue: this site has it off in partition '" + partition + "'"};
    return host.prepend_command(settings.launcher(), "script");
}

}  // namespace

Status on_local_user_init(SpankHandle const& host, Settings const&) {
    DET_TRY_ASSIGN(auto const options, host.find_options());
    VariableLookup const lookup = find_srun_variable;
    if (!options.enabled.value_or(lookup(variables::spank) == "auto")) return Ok{};
    auto const job = host.job_id();
    auto const step = host.step_id();
    if (!job || !step) return Ok{};
    TaskIdentity task;
    task.job_id = std::to_string(*job);
    task.step_id = std::to_string(*step);
    auto const kind = find_step_kind(task, lookup);
    if (kind == StepKind::part_of_run && !is_called_by_task(lookup)) return Ok{};
    if (kind == StepKind::foreign) {
        if (!options.enabled) return Ok{};  // DET_SPANK was inherited from another job
        // srun sends variables that are removed now with their old values: an empty one is removed in
        // task_init.
        DET_TRY(remove_inherited(lookup, [](char const* name) -> Status {
            SpankHandle::set_srun_variable(name, "");
            return Ok{};
        }));
    }
    SpankHandle::set_srun_variable(variables::labels, to_string(choose_labelled_streams(lookup)));
    if (kind == StepKind::part_of_run) return Ok{};
    // The tasks of a node agree by it on a directory if another user has taken the name of the usual one.
    SpankHandle::set_srun_variable(variables::local_suffix, make_uuid());
    if (auto const chief = host.find_chief_host())
        SpankHandle::set_srun_variable(variables::step_chief,
                                       render_step_chief(task.job_id, task.step_id, *chief));
    if (choose_launch(options, lookup) != Launch::rank) return Ok{};
    if (!gets_rank_variable("MASTER_PORT", options.rank_variables, lookup)) return Ok{};
    auto const key = step_run_key(task.job_id, task.step_id, lookup("SLURM_RESTART_COUNT").value_or(""));
    SpankHandle::set_srun_variable("MASTER_PORT", std::to_string(choose_port(key)));
    return Ok{};
}

Status on_task_init(SpankHandle const& host, Settings const& settings) {
    auto const step = host.step_id();
    if (step == batch_step) return prepare_batch_script(host, settings);
    if (!step || *step >= first_special_step) return Ok{};
    DET_TRY_ASSIGN(auto const options, host.find_options());
    VariableLookup const lookup = [&](std::string_view name) { return host.find_variable(name); };
    if (!options.enabled.value_or(lookup(variables::spank) == "auto")) return Ok{};

    auto const partition = lookup("SLURM_JOB_PARTITION").value_or("");
    if (!settings.is_active_in(partition)) {
        if (!options.enabled) return Ok{};  // the plugin is off here, and no option asks for it
        return Error{codes::usage, "--det: this site has it off in partition '" + partition + "'"};
    }
    DET_TRY(remove_emptied(host, lookup));
    DET_TRY_ASSIGN(auto const task, identify_task(lookup));
    auto const kind = find_step_kind(task, lookup);
    if (kind == StepKind::foreign) {
        if (!options.enabled) return Ok{};  // DET_SPANK was inherited from another job
        DET_TRY(remove_inherited(lookup, [&](char const* name) { return host.unset_variable(name); }));
    }
    auto const variables = kind == StepKind::part_of_run ? rank_variables_in_run(task, lookup)
                                                         : variables_of_script(task, options, lookup);
    for (auto const& [name, value] : variables) DET_TRY(host.set_variable(name, value));
    if (options.wrap.value_or(settings.wrap) == Wrap::off) return Ok{};
    if (settings.wrapper.empty()) {
        if (!options.wrap && options.log.empty()) return Ok{};
        return Error{codes::usage, "--det-wrap and --det-log: plugstack.conf names no wrapper"};
    }
    return host.prepend_command(settings.wrapper, "--spank");
}

}  // namespace det::spank
