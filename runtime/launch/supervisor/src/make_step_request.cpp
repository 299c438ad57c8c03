#include "make_step_request.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/executable.hpp>
#include <det/launch/node/container_call.hpp>
#include <det/protocol/setup_lines.hpp>

#include <algorithm>
#include <iterator>

#include "warm_start.hpp"

namespace det::launch::supervisor {
namespace {

/// Runs startup-hook.sh in front of the entrypoint, which inherits its exports; the entrypoint does not start
/// if the hook fails. If the node has the program flock, its ranks run the hook one after the other, so that
/// a rank finds what the rank before it installed; without flock, they run it at the same time.
constexpr char startup_hook[] =
    "set -e; exec 9>\"$DET_RUN_DIR/startup-hook.lock\"; if command -v flock >/dev/null; then flock 9; fi; "
    ". ./startup-hook.sh 9>&-; set +e; exec 9>&-; exec \"$@\"";

/// srun's options of the container: for pyxis, which starts the container before det-wrap-rank runs, and
/// those of the site's template.
std::vector<std::string> container_options(ExperimentSpec const& spec,
                                           std::filesystem::path const& programs) {
    node::ContainerCall call;
    call.container = *spec.container;
    call.directories = {spec.root};
    if (!spec.checkpoint_path.empty()) call.directories.emplace_back(spec.checkpoint_path);
    call.programs = programs;
    call.libraries = loaded_library_paths();
    for (auto& module : checkpoint::storage::store_modules(spec, Environment()))
        call.libraries.push_back(std::move(module));
    node::add_python_package(call);
    for (auto const& variable : spec.environment_variables) {
        call.user_variables.push_back(variable.substr(0, variable.find('=')));
    }
    return call.container.runtime == ContainerRuntime::pyxis ? node::render_pyxis_options(call, "/tmp")
                                                             : node::render_template_options(call, "/tmp");
}

/// What runs under the wrapper: the entrypoint, after the lines of slurm.setup and the hook of the code.
std::vector<std::string> task_command(ExperimentSpec const& spec, std::filesystem::path const& wrap_rank) {
    std::vector<std::string> command;
    auto const append = [&](std::vector<std::string> const& words) {
        command.insert(command.end(), words.begin(), words.end());
    };
    if (!spec.setup.empty()) append(setup_command_prefix());
    if (spec.context && spec.context->has_startup_hook) append({"bash", "-c", startup_hook, "startup-hook"});
    if (is_warm_started(spec)) append({wrap_rank.parent_path() / "det-launch", "warm-start"});
    append(spec.entrypoint);
    return command;
}

}  // namespace

std::vector<std::string> make_script_command(BatchJob const& batch_job,
                                             std::filesystem::path const& wrap_rank) {
    auto const& spec = batch_job.spec;
    std::vector<std::string> command{wrap_rank, "--script",
                                     spec.batch_script ? spec.batch_script->working_directory : ""};
    std::ranges::copy(task_command(spec, wrap_rank), std::back_inserter(command));
    return command;
}

slurm::StepRequest make_step_request(BatchJob const& batch_job, RunPlan const& run,
                                     std::filesystem::path const& wrap_rank) {
    auto const& spec = batch_job.spec;
    slurm::StepRequest request;
    request.shape = run.shape.shape;
    request.has_gres = spec.has_gres;
    request.name = to_string(run.id);
    request.launch = spec.launch;
    request.mpi = spec.mpi;
    request.cpus_per_node = std::max(1, batch_job.cpus_per_node / batch_job.lanes());
    if (spec.lanes > 1) request.share = slurm::StepShare{batch_job.memory_per_node_mib / spec.lanes};
    if (run.shape.is_part_of_job) request.hosts = run.hosts;
    request.command = {wrap_rank};
    request.command.push_back(spec.launch == Launch::rank ? "SLURM_PROCID" : "--node");
    bool const has_template = spec.container && spec.container->custom.has_value();
    if (spec.container && (has_template || spec.container->is_started_by_srun()))
        request.options = container_options(spec, wrap_rank.parent_path());
    if (spec.container && !spec.container->is_started_by_srun()) {
        request.command.insert(request.command.end(), {wrap_rank.parent_path() / "det-launch", "contain"});
    }
    request.binds_ranks = spec.bind.empty();
    // Of two equal options srun takes the last: those of the user override the step's.
    std::ranges::copy(spec.srun_args, std::back_inserter(request.options));
    std::ranges::copy(task_command(spec, wrap_rank), std::back_inserter(request.command));
    return request;
}

}  // namespace det::launch::supervisor
