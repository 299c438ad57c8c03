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

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "gather_run_facts.hpp"
#include "node_step.hpp"
#include "run_environment.hpp"
#include "stage_cache.hpp"

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

/// How long the files may take, of a slow disk. Also how long a node waits for another job that brings them.
std::chrono::seconds find_copy_limit(StageLoad const& load) {
    constexpr std::uint64_t slow_bytes_per_s = 5'000'000;
    return std::chrono::minutes(10) + std::chrono::seconds(load.size_bytes() / slow_bytes_per_s);
}

std::vector<std::string> stage_arguments(RunPlan const& run, StageLoad const& load,
                                         fs::path const& directory) {
    return {"stage-node",
            "--directory",
            directory,
            "--hosts",
            run.hosts,
            "--code-bytes",
            std::to_string(load.code_bytes),
            "--wait-s",
            std::to_string(find_copy_limit(load).count())};
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

/// Whether the step may have ended because of a node: Slurm has lost it, or srun could not start its task.
/// The run's own step finds the node. Also true if Slurm does not answer.
bool may_have_lost_node(RunPlan const& run, std::optional<int> exit_code, SupervisorContext const& context) {
    // A higher exit code is an error number of Slurm: srun could not start all tasks.
    constexpr int signals_end = 128 + 64;
    if (exit_code > signals_end) return true;
    auto const nodes = context.slurm.query_nodes();
    return !nodes || std::ranges::any_of(*nodes, [&](slurm::Node const& node) {
        return has_slurm_lost(node) && std::ranges::find(run.shape.hosts, node.name) != run.shape.hosts.end();
    });
}

/// Why the nodes lack files, of a step that has not ended with success; nullopt if the run's own step shows
/// it: Slurm has signalled the step, or a node is lost.
std::optional<Error> find_reason(StageStepDirectory const& directory, RunPlan const& run,
                                 std::optional<int> exit_code, std::chrono::seconds limit,
                                 SupervisorContext const& context) {
    if (auto failure = directory.find_failure()) return failure;
    bool const is_signalled = exit_code == 128 + SIGTERM;
    if (is_signalled || may_have_lost_node(run, exit_code, context)) return std::nullopt;
    if (exit_code)
        return Error{codes::process,
                     fmt::format("the step that brings the run's files to {} has ended with {}, and no node "
                                 "could write the reason to '{}'",
                                 run.hosts, *exit_code, directory.path().string()),
                     "what the step has printed is in the job's output"};
    return Error{codes::timed_out,
                 fmt::format("the step that brings the run's files to {} has not ended after {} minutes",
                             run.hosts, std::chrono::duration_cast<std::chrono::minutes>(limit).count()),
                 "the shared file system, or the disk of a node, does not answer or is very slow"};
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
                                SupervisorContext const& context, std::function<bool()> const& is_stopped) {
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
    // A node may first wait for another job, and then bring the files itself.
    auto const limit = 2 * find_copy_limit(load);
    NodeStep const step{"stage", stage_arguments(run, load, directory.path()), environment, limit};
    DET_TRY_ASSIGN(auto const end, run_node_step(batch_job, run, context, step, is_stopped));
    if (end.is_stopped) return stopped_before_step(run.id);
    if (auto const exit_code = end.exit_code; exit_code != 0) {
        auto reason = find_reason(directory, run, exit_code, limit, context);
        if (!reason) {
            context.log(fmt::format("run {}: the step that brings its files has {}", to_string(run.id),
                                    exit_code ? fmt::format("ended with {}", *exit_code) : "not ended"));
            return job;
        }
        if (!load.files.empty()) return *std::move(reason);
        context.log(
            fmt::format("run {}: each node reads the code itself: {}", to_string(run.id), reason->message));
        return std::string();
    }
    auto const took =
        std::chrono::duration_cast<std::chrono::milliseconds>(context.clock.steady_now() - begin);
    context.log(fmt::format("run {} has its files: {} on {} after {} ms", to_string(run.id),
                            format_size(load.size_bytes()), run.hosts, took.count()));
    return job;
}

}  // namespace det::launch::supervisor
