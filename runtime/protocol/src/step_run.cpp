#include <det/foundation/text.hpp>
#include <det/protocol/step_run.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace det {
namespace {

constexpr std::uint16_t master_port_first = 20'000;
constexpr std::uint16_t master_port_count = 9'000;  // up to 28,999; the ports of launchers begin at 29,400
// Per node; limits the memory whatever the variables contain.
constexpr std::size_t slots_max = 4096;
// What torch.distributed reads. submitit's TorchDistributedEnvironment exports them, and fails if one is set.
constexpr std::string_view torch_variables[] = {"RANK",       "WORLD_SIZE",       "MASTER_ADDR",
                                                "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT"};

std::string text_of(VariableLookup const& lookup, std::string_view name) { return lookup(name).value_or(""); }

/// FNV-1a, which is the same on every node and in every release.
std::uint64_t hash(std::string_view text) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (char const c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return value;
}

std::string key_of(TaskIdentity const& task, VariableLookup const& lookup) {
    return step_run_key(task.job_id, task.step_id, text_of(lookup, "SLURM_RESTART_COUNT"));
}

struct Visible {
    SlotType type = SlotType::cpu;
    std::string devices;
};

Visible find_visible(VariableLookup const& lookup) {
    // Slurm sets NoDevFiles if it has allocated no device.
    for (auto const& [type, name] :
         {std::pair(SlotType::cuda, "CUDA_VISIBLE_DEVICES"),
          std::pair(SlotType::rocm, "ROCR_VISIBLE_DEVICES"), std::pair(SlotType::rocm, "HIP_VISIBLE_DEVICES"),
          std::pair(SlotType::xpu, "ZE_AFFINITY_MASK")}) {
        auto devices = text_of(lookup, name);
        if (!devices.empty() && devices != "NoDevFiles") return {type, std::move(devices)};
    }
    return {};
}

std::vector<int> counted(std::size_t count) {
    std::vector<int> slots(std::min(count, slots_max));
    std::iota(slots.begin(), slots.end(), 0);
    return slots;
}

}  // namespace

StepKind find_step_kind(TaskIdentity const& task, VariableLookup const& lookup) {
    auto const key = text_of(lookup, variables::run_key);
    if (key.empty()) {
        return text_of(lookup, variables::spank) == "auto" ? StepKind::own_run : StepKind::foreign;
    }
    if (text_of(lookup, variables::run_job) != task.job_id) return StepKind::foreign;
    return key == key_of(task, lookup) ? StepKind::own_run : StepKind::part_of_run;
}

std::string step_run_key(std::string_view job_id, std::string_view step_id, std::string_view restart_count) {
    return fmt::format("{}.{}-{}", job_id, step_id, restart_count.empty() ? "0" : restart_count);
}

std::string wrapper_argv0(std::string const& program) {
    auto const slash = program.rfind('/');
    return slash == std::string::npos ? program
                                      : program.substr(0, slash) + "/./" + program.substr(slash + 1);
}

bool is_wrapper_argv0(std::string_view argv0) {
    auto const slash = argv0.rfind('/');
    return slash != std::string_view::npos && argv0.substr(0, slash).ends_with("/.");
}

std::string to_string(LabelledStreams streams) {
    if (streams.out) return streams.err ? "stdout,stderr" : "stdout";
    return streams.err ? "stderr" : "none";
}

LabelledStreams parse_labelled_streams(std::string_view text) {
    for (auto const streams : {LabelledStreams{false, false}, {true, false}, {false, true}}) {
        if (text == to_string(streams)) return streams;
    }
    return {};
}

std::uint16_t master_port(std::string_view run_key, unsigned attempt) {
    constexpr unsigned stride = 1013;  // coprime to the number of ports, so that all ports are tried
    return static_cast<std::uint16_t>(master_port_first +
                                      (hash(run_key) + std::uint64_t{attempt} * stride) % master_port_count);
}

std::uint16_t master_port(TaskIdentity const& task, VariableLookup const& lookup, unsigned attempt) {
    return master_port(key_of(task, lookup), attempt);
}

std::vector<int> local_slots(VariableLookup const& lookup, int count) {
    auto const visible = find_visible(lookup);
    if (visible.type == SlotType::cpu) return counted(static_cast<std::size_t>(std::max(count, 1)));
    auto const devices = split(visible.devices, ',');
    std::vector<int> slots;
    for (auto const device : devices) {
        if (auto const index = parse_integer<int>(device); index && *index >= 0) slots.push_back(*index);
    }
    auto const seen = std::min(devices.size(), slots_max);
    auto const meant = count == 0 ? seen : static_cast<std::size_t>(count);
    // The numbers are not usable if the variable has UUIDs like GPU-5ba4..., or if each task sees only its
    // own device.
    return slots.size() == meant ? slots : counted(meant);
}

std::string render_slot_ids_json(std::vector<int> const& slots) {
    return fmt::format("[{}]", fmt::join(slots, ", "));
}

bool gets_rank_variable(std::string_view name, RankVariables which, VariableLookup const& lookup) {
    bool const is_set = !text_of(lookup, name).empty();
    if (which == RankVariables::all) return !is_set || name != "MASTER_PORT";
    bool const is_left_to_submitit = lookup("SUBMITIT_EXECUTOR") && std::ranges::count(torch_variables, name);
    return !is_set && !is_left_to_submitit;
}

Variables rank_variables_in_run(TaskIdentity const& task, VariableLookup const& lookup) {
    auto const launch = lookup(variables::launch);
    if (launch == "rank") return rank_variables(task, text_of(lookup, variables::host_suffix));
    if (launch != "script") return {};
    auto ranks = rank_variables(task, text_of(lookup, variables::host_suffix));
    ranks.emplace_back("MASTER_PORT", std::to_string(master_port(task, lookup)));
    std::erase_if(ranks, [&](auto const& variable) {
        return !gets_rank_variable(variable.first, RankVariables::missing, lookup);
    });
    return ranks;
}

Variables step_run_variables(TaskIdentity const& task, Launch launch, VariableLookup const& lookup,
                             RankVariables which) {
    auto const slots = local_slots(lookup, launch == Launch::rank ? task.local_size : 0);
    // If a launcher starts the ranks, the slots of other nodes are unknown. Assumes that all nodes are like
    // this one.
    auto const counts =
        launch == Launch::rank ? task.tasks_per_node : fmt::format("{}(x{})", slots.size(), task.cross_size);
    Variables assigned{
        {variables::spank, "auto"},
        {variables::launch, std::string(to_string(launch))},
        {variables::run_key, key_of(task, lookup)},
        {variables::run_job, task.job_id},
        {variables::run_hosts, task.hosts},
        {variables::cluster_id, text_of(lookup, "SLURM_CLUSTER_NAME")},
        {variables::task_id, task.job_id},
        {variables::allocation_id, fmt::format("{}.{}", task.job_id, task.step_id)},
        {variables::task_type, "COMMAND"},
        {variables::agent_id, text_of(lookup, "SLURMD_NODENAME")},
        {variables::slot_ids, render_slot_ids_json(slots)},
        {variables::slot_type, std::string(to_string(find_visible(lookup).type))},
        {variables::slot_counts, counts},
        {variables::chief_ip, task.chief_host},
        {variables::user, text_of(lookup, "SLURM_JOB_USER")},
    };
    if (launch == Launch::rank) {
        auto ranks = rank_variables(task, text_of(lookup, variables::host_suffix));
        ranks.emplace_back("MASTER_PORT", std::to_string(master_port(task, lookup)));
        for (auto& variable : ranks) {
            if (gets_rank_variable(variable.first, which, lookup)) assigned.push_back(std::move(variable));
        }
    }
    return assigned;
}

std::optional<std::string> own_mig_instance(std::string_view visible_devices, int local_rank) {
    auto const devices = split(visible_devices, ',');
    bool const are_instances = std::all_of(devices.begin(), devices.end(),
                                           [](auto const device) { return device.starts_with("MIG-"); });
    auto const at = static_cast<std::size_t>(local_rank);
    if (!are_instances || devices.size() < 2 || local_rank < 0 || at >= devices.size()) return std::nullopt;
    return std::string(devices[at]);
}

}  // namespace det
