#include <det/containers/container_call.hpp>
#include <det/foundation/executable.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/supervisor/run_environment.hpp>

#include <fmt/format.h>

namespace det::supervisor {
namespace {

std::string slot_ids(TrialShape const& shape) {
    std::string text;
    for (int slot = 0; slot < shape.ranks_per_node(); ++slot)
        text += fmt::format("{}{}", slot == 0 ? "" : ", ", slot);
    return "[" + text + "]";
}

/// pyxis begins the container before anything of ours is run: srun is told.
std::vector<std::string> pyxis_options(ExperimentSpec const& spec, std::filesystem::path const& programs) {
    containers::ContainerCall call;
    call.container = *spec.container;
    call.directories = {spec.root, spec.checkpoint_path};
    call.programs = programs;
    call.libraries = own_libraries();
    for (auto const& variable : spec.environment_variables) {
        call.user_variables.push_back(variable.substr(0, variable.find('=')));
    }
    return containers::render_pyxis_options(call, "/tmp");
}

}  // namespace

Environment make_run_environment(Assignment const& assignment, ResumePoint const& resume,
                                 std::uint32_t trial_seed, std::uint16_t master_port,
                                 Environment const& job) {
    auto const& spec = assignment.spec;
    auto environment = job;
    for (auto const& variable : spec.environment_variables) {
        auto const equals = variable.find('=');
        environment.set(variable.substr(0, equals),
                        equals == std::string::npos ? "" : variable.substr(equals + 1));
    }
    RunId const run{assignment.trial, resume.next_run};
    auto const run_path = assignment.experiment.trial(assignment.trial.index).run(run.number).path();
    auto const chief = first_host(assignment.hosts).value_or("localhost");
    Variables const ours{
        {variables::spank, "auto"},
        {variables::launch, std::string(to_string(spec.launch))},
        {variables::root, spec.root},
        {variables::run_key, fmt::format("{}-{}-{}", to_string(run), slurm::to_string(assignment.job),
                                         assignment.incarnation.restart_count)},
        {variables::run_hosts, assignment.hosts},
        {variables::run_path, run_path},
        {variables::experiment_path, assignment.experiment.path()},
        {variables::experiment_id, to_string(spec.id)},
        {variables::trial_id, std::to_string(to_integer(assignment.trial))},
        {variables::trial_run_id, std::to_string(run.number)},
        {variables::trial_seed, std::to_string(trial_seed)},
        {variables::steps_completed, std::to_string(resume.steps_completed)},
        {variables::cluster_id, assignment.cluster},
        {variables::task_id, to_string(assignment.trial)},
        {variables::allocation_id, to_string(run)},
        {variables::task_type, "TRIAL"},
        {variables::slot_ids, slot_ids(spec.shape)},
        {variables::slot_type, std::string(to_string(spec.shape.slot_type))},
        {variables::chief_ip, chief},
        {"MASTER_ADDR", chief},
        {"MASTER_PORT", std::to_string(master_port)},
    };
    for (auto const& [name, value] : ours) environment.set(name, value);
    // What a run of another trial may have left in the environment that the user submitted from.
    for (auto const* name : {variables::placed, variables::wrapped, variables::wrapped_command,
                             variables::run_dir, variables::rank_log, variables::latest_checkpoint}) {
        environment.unset(name);
    }
    if (!resume.checkpoint.empty()) environment.set(variables::latest_checkpoint, resume.checkpoint);
    // srun reads these as wishes, and they were made for the batch step.
    for (auto const* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
                             "SLURM_TRES_PER_TASK", "SLURM_CPU_BIND", "SLURM_GPUS_PER_TASK"}) {
        environment.unset(name);
    }
    return environment;
}

slurm::StepRequest make_step_request(Assignment const& assignment, std::filesystem::path const& wrap_rank) {
    auto const& spec = assignment.spec;
    slurm::StepRequest request{spec.shape, spec.launch, spec.mpi, assignment.cpus_per_node, {wrap_rank}};
    request.command.push_back(spec.launch == Launch::rank ? "SLURM_PROCID" : "--node");
    if (spec.container && spec.container->runtime == ContainerRuntime::pyxis) {
        request.options = pyxis_options(spec, wrap_rank.parent_path());
    } else if (spec.container) {
        request.command.insert(request.command.end(), {wrap_rank.parent_path() / "det-launch", "contain"});
    }
    request.command.insert(request.command.end(), spec.entrypoint.begin(), spec.entrypoint.end());
    return request;
}

}  // namespace det::supervisor
