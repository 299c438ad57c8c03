#include "stage_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/launch/supervisor/stage_node.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/srun.hpp>
#include <det/slurm/step_process.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "run_environment.hpp"
#include "stage_cache.hpp"
#include "wait_for_step.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

/// What the step brings.
struct StageLoad {
    std::vector<StagedFile> files;
    std::uint64_t code_bytes = 0;  // 0: each node reads the code itself

    bool is_empty() const { return files.empty() && code_bytes == 0; }
    std::uint64_t size_bytes() const {
        auto total = code_bytes;
        for (auto const& file : files) total += file.size_bytes;
        return total;
    }
};

StageLoad find_load(ExperimentSpec const& spec, RunPlan const& run) {
    StageLoad load{staged_files(spec.config)};
    bool const is_read_by_nodes = spec.context && spec.working_directory == WorkingDirectory::node_local &&
                                  spec.launch != Launch::script;
    if (!is_read_by_nodes) return load;
    std::error_code failure;
    auto const archive_bytes = fs::file_size(RootLayout(spec.root).context(spec.context->sha256), failure);
    if (!failure && sends_code(archive_bytes, run.shape.hosts.size(), !load.files.empty()))
        load.code_bytes = archive_bytes;
    return load;
}

/// The directory of the step; removed at the end.
class StageStepDirectory {
public:
    explicit StageStepDirectory(fs::path path) : path_(std::move(path)) {}
    StageStepDirectory(StageStepDirectory const&) = delete;
    StageStepDirectory& operator=(StageStepDirectory const&) = delete;
    ~StageStepDirectory() { (void)remove_tree(path_); }

    Status prepare() const {
        DET_TRY(make_directories(path_));
        return write_secret_file(path_ / stage_step::rendezvous, render_rendezvous_file({make_uuid()}));
    }
    /// The reason of the first node that has failed.
    std::optional<Error> find_failure() const {
        auto const text = read_file(path_ / stage_step::failure);
        if (!text) return std::nullopt;
        auto const lines = split_lines(*text);
        return Error{codes::process, lines.empty() ? std::string("no reason") : std::string(lines.front()),
                     lines.size() > 1 ? std::string(lines[1]) : std::string()};
    }
    fs::path const& path() const { return path_; }

private:
    fs::path path_;
};

std::vector<std::string> render_stage_step(RunPlan const& run, SupervisorContext const& context,
                                           StageLoad const& load, fs::path const& directory) {
    slurm::StepRequest request;
    // No GPUs: the step does not use them.
    request.shape = TrialShape{static_cast<int>(run.shape.hosts.size()), 1, SlotType::cpu};
    request.name = to_string(run.id) + ".stage";
    if (run.shape.is_part_of_job) request.hosts = run.hosts;
    // A node that fails must not end the others while they write.
    request.options = {"--kill-on-bad-exit=0"};
    request.command = {context.wrap_rank.parent_path() / "det-launch",
                       "stage-node",
                       "--directory",
                       directory,
                       "--hosts",
                       run.hosts,
                       "--code-bytes",
                       std::to_string(load.code_bytes)};
    return slurm::render_srun(request);
}

/// Whether an earlier run of this job has brought the files to this node, the only one of the run: a search
/// of many short trials then pays for one step only. The job's number may be that of an old job, whose links
/// lead to other files. The node may have been restarted since that run, if Slurm has requeued the job.
/// \param environment of the run: it says where the files are
bool are_files_here(StageLoad const& load, RunPlan const& run, std::string const& job,
                    Environment const& environment) {
    if (load.code_bytes > 0 || run.shape.hosts != std::vector{node::node_name(environment)}) return false;
    auto const directory = node::find_job_stage(environment, job);
    return directory && std::ranges::all_of(load.files, [&](StagedFile const& file) {
               auto const item = item_of(file);
               std::error_code failure;
               auto const content = fs::read_symlink(*directory / item.name, failure);
               return !failure && content.parent_path().filename() == item.key &&
                      fs::exists(content, failure) && is_of_this_start(content.parent_path());
           });
}

/// Enough for a slow disk.
std::chrono::seconds find_step_limit(StageLoad const& load) {
    constexpr std::uint64_t slow_bytes_per_s = 5'000'000;
    return std::chrono::minutes(10) + std::chrono::seconds(load.size_bytes() / slow_bytes_per_s);
}

}  // namespace

/// The step costs what srun needs to start one, 0.15 to 0.3 s, whatever it brings. A file server that gives
/// 1 GB/s to all nodes together sends 256 MiB meanwhile. So less than that is read by each node: small code
/// on few nodes starts as before.
bool sends_code(std::uint64_t archive_bytes, std::size_t nodes, bool has_step) {
    constexpr std::uint64_t worth_a_step = std::uint64_t{256} << 20;
    return nodes > 1 && (has_step || archive_bytes * nodes >= worth_a_step);
}

Result<std::string> stage_files(BatchJob const& batch_job, RunPlan const& run,
                                SupervisorContext const& context) {
    auto const load = find_load(batch_job.spec, run);
    if (load.is_empty()) return std::string();
    auto const job = slurm::to_string(batch_job.job);
    auto environment = make_run_environment(batch_job, run, context.environment);
    if (are_files_here(load, run, job, environment)) return job;
    auto const begin = context.clock.steady_now();
    StageStepDirectory const directory(
        batch_job.experiment.trial(run.id.trial.index).run(run.id.number).path() / "stage");
    DET_TRY(directory.prepare());
    environment.set(variables::stage, job);
    environment.unset(variables::spank);
    unset_batch_step(environment);
    DET_TRY_ASSIGN(auto step, slurm::StepProcess::start(
                                  render_stage_step(run, context, load, directory.path()), environment));
    bool const has_ended = wait_for_step(step, begin + find_step_limit(load), context.clock);
    if (!has_ended) {
        step.signal(SIGKILL);
        (void)context.slurm.cancel_step(batch_job.job, to_string(run.id) + ".stage");
    }
    if (auto failure = directory.find_failure()) {
        if (!load.files.empty()) return *std::move(failure);
        context.log(
            fmt::format("run {}: each node reads the code itself: {}", to_string(run.id), failure->message));
        return std::string();
    }
    auto const exit_code = step.poll_exit();
    if (exit_code != 0) {
        // Slurm has signalled this job, or a node does not answer: that shows in the run's own step.
        context.log(
            fmt::format("run {}: the step that brings its files has {}", to_string(run.id),
                        has_ended ? fmt::format("ended with {}", exit_code.value_or(1)) : "not ended"));
        return job;
    }
    auto const took =
        std::chrono::duration_cast<std::chrono::milliseconds>(context.clock.steady_now() - begin);
    context.log(fmt::format("run {} has its files: {} on {} after {} ms", to_string(run.id),
                            format_size(load.size_bytes()), run.hosts, took.count()));
    return job;
}

}  // namespace det::launch::supervisor
