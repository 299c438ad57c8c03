#include "planning.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/protocol/trial_class.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace det::launch::launchers {
namespace {

constexpr std::string_view trial_option = "--trial";

Error usage(std::string_view launcher, std::string_view what) {
    return {codes::usage, fmt::format("det-launch {}: {}", launcher, what),
            fmt::format("det-launch {} [[OVERRIDE...] --] (--trial MODULE:CLASS | CMD...)", launcher)};
}

constexpr Launcher launchers[] = {
    {"torch_distributed", "start the ranks by PyTorch's torch.distributed.run", plan_torch_distributed},
    {"horovod", "start the ranks by horovodrun", plan_horovod},
    {"deepspeed", "start the ranks by DeepSpeed's launcher", plan_deepspeed},
    {"tensorflow", "start a process per node, connected by TF_CONFIG", plan_tensorflow},
    {"jax", "start a process per slot for jax.distributed", plan_jax},
    {"mpi", "start the ranks by Open MPI's mpirun", plan_mpi},
};

constexpr std::uint16_t c10d_port = 29400;  // the port that Determined uses

/// The first slot of a list such as "[2, 3]".
int first_slot(Environment const& environment) {
    auto const slots = try_parse_json(environment.find(variables::slot_ids).value_or(""));
    bool const has_one = slots.is_array() && !slots.empty() && slots[0].is_number_unsigned();
    return has_one ? slots[0].get<int>() : 0;
}

}  // namespace

std::span<Launcher const> all_launchers() { return launchers; }

Launcher const* find_launcher(std::string_view name) {
    auto const found = std::ranges::find(launchers, name, &Launcher::name);
    return found == std::end(launchers) ? nullptr : &*found;
}

Result<LauncherArguments> split_arguments(std::string_view launcher,
                                          std::vector<std::string> const& arguments) {
    LauncherArguments parts;
    auto rest = arguments.begin();
    bool const has_overrides =
        rest != arguments.end() && rest->starts_with('-') && !rest->starts_with(trial_option);
    if (has_overrides) {
        auto const separator = std::find(rest, arguments.end(), "--");
        if (separator == arguments.end()) {
            return usage(launcher, fmt::format("'{}' looks like an option, but no '--' follows", *rest));
        }
        parts.overrides.assign(rest, separator);
        rest = separator + 1;
    }
    parts.command.assign(rest, arguments.end());
    if (parts.command.empty()) return usage(launcher, "a command is missing");

    auto& command = parts.command;
    if (!command[0].starts_with(trial_option)) return parts;
    if (command[0].starts_with("--trial=")) {
        command.insert(command.begin() + 1, command[0].substr(trial_option.size() + 1));
    } else if (command[0] != trial_option) {
        return usage(launcher, fmt::format("unknown option '{}'", command[0]));
    }
    if (command.size() < 2 || !is_trial_class(command[1])) {
        return usage(launcher, "--trial takes MODULE:CLASS, for example model_def:MyTrial");
    }
    if (command.size() > 2) return usage(launcher, "--trial and a command exclude each other");
    command = {"python3", "-m", "determined.exec.harness", command[1]};
    return parts;
}

std::vector<std::string> worker_command(LaunchContext const& context, std::string_view rank,
                                        std::vector<std::string> const& command) {
    std::vector<std::string> argv{context.wrap_rank, std::string(rank), context.det_launch, "worker"};
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
}

int Nodes::ranks() const { return std::accumulate(slots.begin(), slots.end(), 0); }
int Nodes::ranks_before() const { return std::accumulate(slots.begin(), slots.begin() + own, 0); }

Result<Nodes> read_nodes(RendezvousInfo const& rendezvous) {
    Nodes nodes;
    DET_TRY_ASSIGN(nodes.hosts, expand_host_list(rendezvous.hosts));
    DET_TRY_ASSIGN(nodes.slots, expand_counts(rendezvous.slot_counts));
    nodes.own = rendezvous.container_rank;
    bool const fits = nodes.hosts.size() == nodes.slots.size() && nodes.own >= 0 &&
                      static_cast<std::size_t>(nodes.own) < nodes.hosts.size();
    if (fits) return nodes;
    return Error{codes::damaged,
                 fmt::format("{}: node {} of '{}' with '{}' slots can't be", info_files::rendezvous,
                             nodes.own, rendezvous.hosts, rendezvous.slot_counts)};
}

std::string chief_name(Nodes const& nodes, Environment const& environment) {
    if (nodes.is_single()) return "localhost";
    return add_host_suffix(nodes.hosts.front(), environment.find(variables::host_suffix).value_or(""));
}

LaunchPlan plan_waiting_node() {
    LaunchPlan plan;
    plan.waits_for_chief = true;
    return plan;
}

Result<std::uint16_t> rendezvous_port(Environment const& environment) {
    for (auto const* name : {"C10D_PORT", "MASTER_PORT"}) {
        auto const text = environment.find_non_empty(name);
        if (!text) continue;
        auto const port = parse_integer<std::uint16_t>(*text);
        if (port && *port > 0) return *port;
        return Error{codes::bad_value, fmt::format("{}='{}' is not a port", name, *text)};
    }
    return static_cast<std::uint16_t>(c10d_port + first_slot(environment));
}

void use_remote_shell(LaunchPlan& plan, LaunchContext& context) {
    plan.remote_shell = context.run_dir / "remote-shell";
    auto const path = context.environment.find_non_empty("PATH").value_or("/usr/bin:/bin");
    context.environment.set("PATH", fmt::format("{}:{}", plan.remote_shell->string(), path));
}

}  // namespace det::launch::launchers
