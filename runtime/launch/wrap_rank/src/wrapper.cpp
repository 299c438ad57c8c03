#include "wrapper.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/liveness/wait_page.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/forward_signals.hpp>
#include <det/protocol/launcher_environment.hpp>
#include <det/protocol/nested_step.hpp>
#include <det/protocol/step_requests.hpp>
#include <det/protocol/step_run.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "checkpoint_read_ahead.hpp"
#include "failure_record.hpp"
#include "heartbeat.hpp"
#include "node_sampler.hpp"
#include "placement.hpp"
#include "supervisor_link.hpp"
#include "wait_sampler.hpp"

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "workdir";
// A file in DET_RUN_DIR that exists if the ranks of this node have wrappers that log
constexpr char ranks_log_mark[] = "ranks-log";

bool is_same_file(int one, int other) {
    struct stat first {
    }, second{};
    return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/// The number of this node in the run, by the name of its log: node-K.log.
int node_of_log(fs::path const& log) {
    auto const name = log.stem().string();
    return parse_integer<int>(name.substr(std::min(name.size(), name.find('-') + 1))).value_or(-1);
}

/// Handles Slurm's SIGTERM and the requests of the supervisor to a task of a run: writes a notice to the page
/// in DET_RUN_DIR, where the ranks read it.
class RunNotices {
public:
    /// Reads DET_RUN_DIR and DET_FORWARD_SIGNALS.
    static Result<RunNotices> open(Environment const& environment) {
        fs::path const run_dir = environment.find(variables::run_dir).value_or("");
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(run_dir / preemption::notice_file));
        return RunNotices(std::move(page),
                          parse_forward_signals(environment.find(variables::forward_signals).value_or("")));
    }

    SignalUse take(int signal, Clock const& clock) {
        if (signal != SIGTERM) return SignalUse::forward;
        page_.raise(clock, preemption::NoticePage::By::slurm);
        return SignalUse::notice;
    }
    /// Handles a request of the supervisor. Does nothing if it was handled before.
    Request take_request(std::string_view request, Clock const& clock) {
        if (request == step_requests::stop && !std::exchange(was_asked_to_stop_, true)) {
            page_.raise(clock, preemption::NoticePage::By::supervisor);
            return Request::notice;
        }
        if (request == step_requests::notice) {
            page_.raise(clock, preemption::NoticePage::By::slurm);
            return Request::slurm_notice;
        }
        if (request == step_requests::end) return Request::end;
        if (request == step_requests::stacks && !std::exchange(has_shown_stacks_, true))
            return Request::show_stacks;
        return Request::none;
    }

    /// The signals by which the command gets a notice.
    std::vector<int> const& forwarded() const { return forwarded_; }

private:
    RunNotices(preemption::NoticePage page, std::vector<int> forwarded)
        : page_(std::move(page)), forwarded_(std::move(forwarded)) {}

    preemption::NoticePage page_;
    bool was_asked_to_stop_ = false;
    bool has_shown_stacks_ = false;
    std::vector<int> forwarded_;
};

/// One task and its command.
class Wrapper {
public:
    Wrapper(WrapRequest request, Environment environment, Clock const& clock)
        : request_(std::move(request)), environment_(std::move(environment)), clock_(clock) {
        command_.when_ended = std::move(request_.when_ended);
        environment_.unset(variables::wrapped_command);
        if (auto task = identify()) {
            task_ = *std::move(task);
            key_ = task_key(*task_);
        }
        in_run_ = task_ && find_step_kind(*task_, lookup_) != StepKind::foreign;
        run_path_ = environment_.find(variables::run_path).value_or("");
        is_supervised_ = in_run_ && !run_path_.empty();
        auto const placed = environment_.find_non_empty(variables::placed);
        has_run_dir_ = in_run_ && placed == key_;
        is_nested_ = in_run_ && placed && placed != key_;
    }
    Wrapper(Wrapper const&) = delete;
    Wrapper& operator=(Wrapper const&) = delete;

    Result<CommandEnd> run(fs::path const& helper) {
        if (is_wrapped()) return replace_process(request_.command, environment_);
        if (auto const allowed = check_if_nested(); !allowed) return refuse(allowed.error());
        command_.signal_mask = block_relayed_signals();
        if (in_run_ && !has_run_dir_) DET_TRY(enter_run_directory(helper));
        if (is_supervised_) DET_TRY(handle_notices());
        if (has_run_dir_) command_.started_by = StartedBy::launcher;
        if (is_script()) run_as_batch_script();
        set_labels();
        if (in_run_ && request_.level == Launch::rank) choose_mig_instance();
        if (in_run_ && request_.level == Launch::rank) place_rank();
        if (is_outermost()) start_heartbeat();
        start_read_ahead(is_outermost());
        if (is_outermost()) start_sampler(helper);
        if (is_outermost()) start_usage_meter(helper);
        if (is_outermost()) watch_waits();
        if (in_run_) share_log();
        if (is_supervised_) failure_record_.emplace(request_.rank, parent(), environment_);
        command_.argv = std::move(request_.command);
        command_.environment = std::move(environment_);
        DET_TRY_ASSIGN(auto const end, relay(command_, clock_));
        if (!is_supervised_) return end;
        // A superseded run ends without a failure. After a failure, srun would ask Slurm to end the step with
        // this step's number, which now belongs to the new run.
        if (end.exit_code != 0 && is_superseded(run_path_)) return CommandEnd{};
        failure_record_->write(end, command_);
        return end;
    }

private:
    bool is_script() const { return request_.level == Launch::script; }

    Result<TaskIdentity> identify() const {
        return is_script() ? identify_batch_script(lookup_) : identify_task(lookup_);
    }

    bool is_outermost() const { return is_supervised_ && !has_run_dir_; }

    /// The slurmstepd of a nested step is not that of the run's own step, and the parent of a batch script is
    /// the supervisor.
    StartedBy parent() const {
        return is_outermost() && !is_nested_ && !is_script() ? StartedBy::slurm : StartedBy::launcher;
    }

    bool is_wrapped() const {
        bool const is_labelled = key_ && environment_.find(variables::wrapped) == key_;
        return request_.level == Launch::rank ? is_labelled : has_run_dir_;
    }

    /// DET_AGENT_ID is still the name of the node on which srun was called.
    Status check_if_nested() const {
        if (!is_nested_) return Ok{};
        return check_nested_step({task_->cross_size, request_.command.front()}, lookup_);
    }

    /// Only the first task of the step prints the error.
    Result<CommandEnd> refuse(Error const& error) const {
        if (task_->rank == 0) return error;
        CommandEnd end;
        end.exit_code = to_int(error.code.exit);
        return end;
    }

    Status enter_run_directory(fs::path const& helper) {
        DET_TRY_ASSIGN(auto entered, node::enter_run_directory(environment_, *task_, request_.level, helper));
        directory_.emplace(std::move(entered));
        if (is_nested_ && has_own_directory()) return Ok{};
        if (!request_.directory.empty()) {
            change_directory(request_.directory);
            return Ok{};
        }
        auto work = directory_->path() / work_directory;
        std::error_code error;
        // A shared working directory has the same path on all nodes, outside and inside of containers.
        if (auto shared = fs::read_symlink(work, error); !error) work = std::move(shared);
        if (path_exists(work)) {
            command_.directory = work;
            environment_.set("PWD", work);
        }
        return Ok{};
    }

    /// The directory of a batch script. Like Slurm, stays in the present one if that is gone. PWD may be
    /// another name of the same directory, which the script then sees, as without us.
    void change_directory(fs::path const& directory) {
        std::error_code error;
        if (!fs::is_directory(directory, error)) return;
        auto const here = fs::current_path(error);
        if (!error && fs::equivalent(here, directory, error)) return;
        command_.directory = directory;
        environment_.set("PWD", directory);
    }

    /// Whether this task was started in the directory of the command that called srun. det-rsh starts its
    /// commands in /, and slurmstepd a task in /tmp if the node lacks the directory.
    bool has_own_directory() const {
        std::error_code error;
        auto const here = fs::current_path(error);
        if (error) return false;
        if (here != "/" && here != "/tmp") return true;
        auto const of_caller = environment_.find_non_empty("PWD");
        return of_caller && fs::equivalent(here, *of_caller, error);
    }

    Status handle_notices() {
        DET_TRY_ASSIGN(auto opened, RunNotices::open(environment_));
        notices_.emplace(std::move(opened));
        // A program starts with no signal blocked, whatever mask its launcher has.
        ::sigemptyset(&command_.signal_mask);
        command_.handle_signal = [this](int signal) { return notices_->take(signal, clock_); };
        if (is_outermost()) deliver_notices();
        if (is_outermost()) take_requests();
        return Ok{};
    }

    /// The outermost wrapper of a task of the run's own step takes the requests of the supervisor. Those of
    /// other steps, which this wrapper's program has started, get a notice from the wrapper of their node.
    void take_requests() {
        if (!environment_.find(variables::step_requests)) return;
        environment_.unset(variables::step_requests);
        command_.stack_helper = {own_executable(), "--stacks"};
        command_.find_requests = [this] { return heartbeat_->find_requests(); };
        command_.write_waits = [this] {
            if (waits_) waits_->write_all();
        };
        command_.handle_request = [this](std::string_view request) {
            return notices_->take_request(request, clock_);
        };
    }

    /// The outermost wrapper of a task delivers notices to all processes below it.
    void deliver_notices() {
        command_.notice_signals = notices_->forwarded();
        command_.awaits_orphans = true;
        command_.run_key = environment_.find(variables::run_key).value_or("");
        command_.signals_reach_all = environment_.find_non_empty(variables::signals_reach_all).has_value();
        if (task_->rank != 0) return;
        fs::path const run = environment_.find(variables::run_path).value_or("");
        command_.record_notice = [noticed = RunLayout(run).preempt_notice()] {
            (void)write_file(noticed, "TERM\n");
        };
    }

    void run_as_batch_script() {
        command_.kind = CommandKind::batch_script;
        command_.merges_streams = is_same_file(STDOUT_FILENO, STDERR_FILENO);
    }

    void set_labels() {
        command_.labels.labelled = labelled_streams();
        if (request_.level == Launch::rank) {
            command_.labels.prefix = fmt::format("[rank={}] ", request_.rank);
            if (key_) environment_.set(variables::wrapped, *key_);
            environment_.unset(variables::labels);
        }
        if (auto const log = environment_.find_non_empty(variables::rank_log)) command_.labels.log = *log;
    }

    /// The only task of a step of a script, or of a command that calls srun, gets no label. A supervisor
    /// wants labels, and so does a launcher that calls the wrapper for its ranks.
    LabelledStreams labelled_streams() const {
        bool const is_called_by_launcher = has_run_dir_ || !in_run_;
        bool const is_of_supervisor = is_supervised_ && !is_nested_;
        bool const is_only_task = !is_called_by_launcher && !is_of_supervisor && task_->size == 1;
        if (is_only_task && request_.level == Launch::rank) return {false, false};
        return parse_labelled_streams(environment_.find(variables::labels).value_or(""));
    }

    std::optional<int> local_number(std::string_view LauncherEnvironment::*variable,
                                    std::string_view of_slurm) const {
        auto const* const launcher = find_launcher_environment(lookup_);
        auto text = launcher != nullptr ? lookup_(launcher->*variable) : std::nullopt;
        if (!text) text = lookup_(of_slurm);
        return text ? parse_integer<int>(*text) : std::nullopt;
    }

    /// Binds a rank of the run to its CPUs and records them. Slurm places the tasks of nested steps, whose
    /// ranks have numbers of their own. The wrapper has no thread yet that would keep the old CPUs.
    void place_rank() {
        if (is_nested_ || !is_supervised_) return;
        auto const local_rank = local_number(&LauncherEnvironment::local_rank, "SLURM_LOCALID");
        auto const local_size = local_number(&LauncherEnvironment::local_size, "SLURM_NTASKS_PER_NODE");
        if (!local_rank || !local_size) return;
        node::RankOnNode const position{*local_rank, *local_size};
        bind_rank(position, environment_);
        if (command_.labels.log)
            record_placement(request_.rank, position, *command_.labels.log, environment_);
    }

    /// Lets a rank see its own MIG instance only.
    void choose_mig_instance() {
        auto const local_rank = local_number(&LauncherEnvironment::local_rank, "SLURM_LOCALID");
        if (!local_rank) return;
        auto const visible = environment_.find("CUDA_VISIBLE_DEVICES").value_or("");
        if (auto const own = own_mig_instance(visible, *local_rank))
            environment_.set("CUDA_VISIBLE_DEVICES", *own);
    }

    void start_heartbeat() {
        if (!command_.labels.log) return;
        auto const& log = *command_.labels.log;
        link_ = SupervisorLink::open(environment_, node_of_log(log));
        bool const has_monitor = environment_.find_non_empty(variables::node_monitor).has_value();
        heartbeat_.emplace(log, run_path_, silence_limit(lookup_), link_.get(), has_monitor, clock_);
        command_.beat = [this] { return heartbeat_->beat(); };
        command_.beat_interval = heartbeat_->beat_interval();
    }

    /// The first task of a node samples its system metrics.
    void start_sampler(fs::path const& helper) {
        bool const is_wanted = environment_.find_non_empty(variables::profiling).has_value();
        if (!is_wanted || task_->local_rank != 0 || !command_.labels.log) return;
        sampler_.emplace(NodeSampler::sample_node(helper, RunLayout::metrics_beside(*command_.labels.log)),
                         environment_);
    }

    /// With slurm.idle_timeout the first task of a node measures how much the run uses the node.
    void start_usage_meter(fs::path const& helper) {
        auto const window_ms = environment_.find_non_empty(variables::usage_window);
        environment_.unset(variables::usage_window);
        if (!window_ms || task_->local_rank != 0 || !command_.labels.log) return;
        usage_meter_.emplace(
            NodeSampler::measure_usage(helper, RunLayout::usage_beside(*command_.labels.log), *window_ms,
                                       environment_.find(variables::run_key).value_or(""),
                                       environment_.find(variables::slot_type).value_or("") != "cpu"),
            environment_);
    }

    /// The first task of a node writes how long the node's ranks wait for others. With slurm.hang_timeout, it
    /// also shows the supervisor that they make progress.
    void watch_waits() {
        if (task_->local_rank != 0 || !command_.labels.log) return;
        WaitSampler::ShowActivity show_activity;
        if (environment_.find_non_empty(variables::shows_activity) && heartbeat_)
            show_activity = [this](std::uint64_t activity) { heartbeat_->show_activity(activity); };
        fs::path const run_dir = environment_.find(variables::run_dir).value_or("");
        waits_.emplace(run_dir / liveness::wait_page_file, RunLayout::waits_beside(*command_.labels.log),
                       std::move(show_activity), clock_);
        command_.watch = [this] { waits_->look(); };
        command_.sample_interval = WaitSampler::interval;
    }

    void start_read_ahead(bool is_outermost) {
        auto const checkpoint = environment_.find_non_empty(variables::read_ahead);
        if (!checkpoint) return;
        if (is_outermost) ahead_.emplace(*checkpoint, *task_);
        environment_.unset(variables::read_ahead);
    }

    /// Makes sure that lines of ranks are logged once, by the rank's own wrapper, if the launcher is wrapped
    /// too.
    void share_log() {
        if (!command_.labels.log) return;
        auto const mark = fs::path(environment_.find(variables::run_dir).value_or("")) / ranks_log_mark;
        if (request_.level == Launch::rank) {
            UniqueFd(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        } else {
            command_.labels.ranks_write_log = [mark, seen = false]() mutable {
                return seen = seen || path_exists(mark);
            };
        }
    }

    WrapRequest request_;
    Environment environment_;
    Clock const& clock_;
    VariableLookup const lookup_ = [this](std::string_view name) { return environment_.find(name); };
    std::optional<TaskIdentity> task_;
    std::optional<std::string> key_;
    fs::path run_path_;
    bool in_run_ = false;
    // Only a supervisor handles ranks that stop after a notice: ranks of a user's own script get SIGTERM.
    bool is_supervised_ = false;
    bool has_run_dir_ = false;  // another wrapper of the task has entered DET_RUN_DIR
    bool is_nested_ = false;    // a task of the run has called srun for this step
    RelayedCommand command_{};
    std::optional<node::NodeDirectory> directory_;  // held until the command has ended
    std::optional<RunNotices> notices_;
    std::unique_ptr<SupervisorLink> link_;
    std::optional<Heartbeat> heartbeat_;
    std::optional<ReadAhead> ahead_;
    std::optional<NodeSampler> sampler_;
    std::optional<NodeSampler> usage_meter_;
    std::optional<WaitSampler> waits_;
    std::optional<FailureRecord> failure_record_;
};

}  // namespace

Result<CommandEnd> run_wrapped(WrapRequest request, Environment environment, fs::path const& helper,
                               Clock const& clock) {
    return Wrapper(std::move(request), std::move(environment), clock).run(helper);
}

}  // namespace det::launch::wrap_rank
