#include "child.hpp"

#include <det/foundation/polling.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

struct ProcessStat {
    std::string name;
    pid_t parent = 0;
};

/// /proc/PID/stat: "12 (a name) S 11 ...". The name may contain any character.
std::optional<ProcessStat> read_process(pid_t process) {
    auto const text = read_file(fmt::format("/proc/{}/stat", process), 4096);
    if (!text) return std::nullopt;
    auto const open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
    auto const fields = split(std::string_view(*text).substr(close + 1), ' ');  // "", state, parent ...
    auto const parent = fields.size() > 2 ? parse_integer<pid_t>(fields[2]) : std::nullopt;
    if (!parent) return std::nullopt;
    return ProcessStat{text->substr(open + 1, close - open - 1), *parent};
}

/// Whether the process is an ancestor of this one, below the task's slurmstepd.
bool is_ancestor(pid_t process) {
    constexpr int generations_max = 64;
    pid_t ancestor = ::getppid();
    for (int i = 0; i < generations_max && ancestor > 1; ++i) {
        auto const line = read_process(ancestor);
        if (!line || line->name == "slurmstepd") return false;
        if (ancestor == process) return true;
        ancestor = line->parent;
    }
    return false;
}

/// Whether the group of this process is in the foreground of a terminal, so that Ctrl-C reaches the group.
bool is_in_foreground() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

/// Waits until the child has executed the program or failed to. Writes the reason of a failure to
/// `standard_error`.
void report_exec_failure(UniqueFd const& failure, std::string_view program, UniqueFd const& standard_error) {
    int reason = 0;
    ssize_t size;
    do size = ::read(failure.get(), &reason, sizeof reason);
    while (size < 0 && errno == EINTR);
    if (size != sizeof reason) return;
    auto const line = fmt::format("det-wrap-rank: error: cannot start '{}': {} [{}]\n", program,
                                  std::strerror(reason), reason == ENOENT ? "no-such-file" : "permission");
    (void)write_all(standard_error.get(), line, "standard error");
}

}  // namespace

sigset_t relayed_signals() {
    sigset_t set;
    ::sigfillset(&set);
    for (int const number :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE, SIGTTIN, SIGTTOU})
        ::sigdelset(&set, number);
    return set;
}

void Child::exec_command(RelayedCommand const& command, Group group, pid_t parent, Pipe const& out,
                         Pipe const& err, UniqueFd const& failure, char* const* argv,
                         char* const* variables) {
    // If a launcher sends SIGKILL to the wrapper, the rank must end too.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(128 + SIGKILL);
    if (group == Group::own) ::setpgid(0, 0);
    if (command.handle_request) {
        int const empty = ::open("/dev/null", O_RDONLY);
        ::dup2(empty, STDIN_FILENO);
        if (empty > STDIN_FILENO) ::close(empty);
    }
    ::dup2(out.write_end.get(), STDOUT_FILENO);
    ::dup2((command.merges_streams ? out : err).write_end.get(), STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
    if (command.directory && ::chdir(command.directory->c_str()) != 0) ::_exit(127);
    ::execvpe(argv[0], argv, variables);
    int const reason = errno;
    [[maybe_unused]] auto const written = ::write(failure.get(), &reason, sizeof reason);
    ::_exit(reason == ENOENT ? 127 : 126);
}

Result<Child> Child::start(RelayedCommand const& command, Pipe const& out, Pipe const& err) {
    CStrings const argv(command.argv);
    CStrings const variables(command.environment.to_list());
    // If this process is in the terminal's foreground process group, the child stays in that group, so that
    // it may read from the terminal.
    auto const group = is_in_foreground() ? Group::ours : Group::own;
    DET_TRY_ASSIGN(auto failure, make_pipe());
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child < 0) return os_error("fork", errno);
    if (child == 0)
        exec_command(command, group, parent, out, err, failure.write_end, argv.data(), variables.data());
    if (group == Group::own) ::setpgid(child, child);
    failure.write_end.reset();
    report_exec_failure(failure.read_end, command.argv.front(), err.write_end);
    return Child(child, group);
}

void Child::signal(int number) const { ::kill(group_ == Group::own ? -pid_ : pid_, number); }

void Child::signal_first_process(int number) const { ::kill(pid_, number); }

void Child::signal_by_terminal(int number) const {
    if (group_ == Group::own) signal(number);
}

std::optional<int> Child::poll_wait_status() const {
    int status = 0;
    return ::waitpid(pid_, &status, WNOHANG) == pid_ ? std::optional(status) : std::nullopt;
}

Result<int> ChildMonitor::wait_for_exit() {
    DET_TRY_ASSIGN(auto const signals, SignalReader::open(relayed_signals()));
    beat();  // each command has at least one heartbeat, even if it has ended already
    for (;;) {
        if (!status_) status_ = child_.poll_wait_status();
        if (status_) take_signals(signals);  // Slurm's notice may be what has ended the command
        if (auto const end = find_end()) {
            if (command_.kind == CommandKind::batch_script) kill_rest();
            return *end;
        }
        beat();
        watch();
        // poll(2) ignores a descriptor of -1.
        pollfd polled[] = {
            {signals.fd(), POLLIN, 0}, {input_, POLLIN, 0}, {files_ ? files_->fd() : -1, POLLIN, 0}};
        if (::poll(polled, std::size(polled), poll_timeout_ms(next_wake(), clock_.steady_now())) < 0 &&
            errno != EINTR)
            return os_error("wait", errno);
        take_signals(signals);
        if (polled[1].revents != 0) read_requests();
        if (polled[2].revents != 0) take_findings();
        if (stack_helper_ > 0 && ::waitpid(stack_helper_, nullptr, WNOHANG) != 0) stack_helper_ = -1;
        deliver_notice();
        kill_if_due();
    }
}

std::optional<int> ChildMonitor::find_end() {
    if (!status_ || orphans_ == nullptr) return status_;
    auto const now = clock_.steady_now();
    if (!notice_until_) notice_until_ = now + Orphans::notice_delay_max;
    return has_slurm_notice_ || now < *notice_until_ ? orphans_->end_after_notice(*status_) : status_;
}

std::optional<ChildMonitor::TimePoint> ChildMonitor::next_wake() const {
    std::optional<TimePoint> first;
    auto const notice_until = has_slurm_notice_ ? std::nullopt : notice_until_;
    for (auto const& time : {kill_at_, beat_at_, watch_at_, deliver_at_, notice_until}) {
        if (time && (!first || *time < *first)) first = time;
    }
    return first;
}

void ChildMonitor::beat() {
    auto const now = clock_.steady_now();
    if (!command_.beat || (beat_at_ && now < *beat_at_)) return;
    // If the parent (slurmstepd) is gone, Slurm neither learns of the task's end nor can end the task.
    if (::getppid() != command_.parent) child_.signal(SIGKILL);
    files_->request(FileThread::beat);
    beat_at_ = now + command_.beat_interval;
}

void ChildMonitor::watch() {
    auto const now = clock_.steady_now();
    if (!command_.watch || (watch_at_ && now < *watch_at_)) return;
    files_->request(FileThread::watch);
    watch_at_ = now + command_.sample_interval;
}

void ChildMonitor::take_findings() {
    auto const found = files_->take();
    if (found.must_end) child_.signal(SIGKILL);
    if (!command_.handle_request) return;
    for (auto const request : found.requests) take_request(command_.handle_request(request));
}

void ChildMonitor::take_signals(SignalReader const& signals) {
    while (auto const info = signals.take()) {
        auto const number = static_cast<int>(info->ssi_signo);
        if (number == SIGCHLD) {
            if (orphans_ != nullptr) orphans_->reap();
            continue;
        }
        if (number == SIGTERM && is_from_launcher(static_cast<pid_t>(info->ssi_pid))) {
            terminate();
            continue;
        }
        auto const use = command_.handle_signal ? command_.handle_signal(number) : SignalUse::forward;
        if (use == SignalUse::notice) {
            begin_notice(By::slurm);
            continue;
        }
        if (info->ssi_code == SI_KERNEL) {
            child_.signal_by_terminal(number);
        } else {
            pass_on(number);
        }
    }
}

void ChildMonitor::pass_on(int number) {
    if (command_.kind == CommandKind::batch_script)
        child_.signal_first_process(number);
    else
        child_.signal(number);
}

void ChildMonitor::read_requests() {
    char bytes[256];
    auto const size = ::read(input_, bytes, sizeof bytes);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
        input_ = -1;
        return;
    }
    unfinished_line_.append(bytes, static_cast<std::size_t>(size));
    for (auto end = unfinished_line_.find('\n'); end != std::string::npos;
         end = unfinished_line_.find('\n')) {
        take_request(command_.handle_request(std::string_view(unfinished_line_).substr(0, end)));
        unfinished_line_.erase(0, end + 1);
    }
}

void ChildMonitor::take_request(Request request) {
    if (request == Request::notice) begin_notice(By::supervisor);
    if (request == Request::slurm_notice) begin_notice(By::slurm_steps);
    if (request == Request::end) end_all();
    if (request != Request::show_stacks) return;
    if (files_ && command_.write_waits) files_->request(FileThread::write_waits);
    show_stacks();
}

/// Errors are ignored: the run ends without stacks. The pipe is opened for writing only now, because the
/// output of a command ends when all writers have closed it.
void ChildMonitor::show_stacks() {
    if (command_.stack_helper.empty() || stack_helper_ > 0) return;
    UniqueFd const output(
        ::open(fmt::format("/proc/self/fd/{}", error_pipe_.get()).c_str(), O_WRONLY | O_CLOEXEC));
    if (!output) return;
    auto argv = command_.stack_helper;
    argv.push_back(std::to_string(child_.pid()));
    SpawnSettings settings;
    settings.in_own_group();
    settings.without_input();
    settings.connect(output, STDOUT_FILENO);
    settings.connect(output, STDERR_FILENO);
    auto const started = spawn(argv, command_.environment, settings);
    if (!started) return;
    stack_helper_ = *started;
    if (orphans_ != nullptr) orphans_->exclude(*started);
}

void ChildMonitor::begin_notice(By by) {
    has_slurm_notice_ = has_slurm_notice_ || by != By::supervisor;
    if (!notice_ && !command_.notice_signals.empty()) {
        auto signals = command_.notice_signals;
        if (by == By::slurm && command_.signals_reach_all) std::erase(signals, SIGTERM);
        OtherSteps others;
        if (by == By::supervisor)
            others = {command_.run_key, command_.environment.find("SLURM_STEP_ID").value_or("")};
        auto const order = command_.kind == CommandKind::batch_script ? NoticeOrder::first_process_first
                                                                      : NoticeOrder::ranks_first;
        notice_.emplace(child_.pid(), signals, std::move(others), order);
        deliver_at_ = clock_.steady_now();
        deliver_notice();
    }
    if (by != By::supervisor && command_.record_notice) files_->request(FileThread::record_notice);
}

void ChildMonitor::deliver_notice() {
    constexpr std::chrono::seconds until_next_try{1};
    if (!deliver_at_ || clock_.steady_now() < *deliver_at_) return;
    notice_->deliver();
    deliver_at_.reset();
    if (notice_->is_pending()) deliver_at_ = clock_.steady_now() + until_next_try;
}

bool ChildMonitor::is_from_launcher(pid_t sender) const {
    return command_.handle_signal && command_.started_by == StartedBy::launcher && is_ancestor(sender);
}

void ChildMonitor::terminate() {
    child_.signal(SIGTERM);
    if (!kill_at_) kill_at_ = clock_.steady_now() + terminate_grace;
}

/// Ends the command and all that it has started, wherever their process groups are. A srun among them ends
/// its step.
void ChildMonitor::end_all() {
    is_ending_all_ = true;
    signal_all(SIGTERM);
    if (!kill_at_) kill_at_ = clock_.steady_now() + terminate_grace;
}

void ChildMonitor::kill_if_due() {
    if (!kill_at_ || clock_.steady_now() < *kill_at_) return;
    if (is_ending_all_)
        signal_all(SIGKILL);
    else
        child_.signal(SIGKILL);
    kill_at_.reset();
}

/// Sends a signal to all processes of the command, also to those whose parents have ended.
void ChildMonitor::signal_all(int number) const {
    auto roots = orphans_ != nullptr ? orphans_->list() : std::vector<pid_t>();
    if (!status_) roots.push_back(child_.pid());
    for (auto const root : roots) {
        for (auto const& process : read_process_tree(root, number)) ::kill(process.pid, number);
    }
}

/// Kills what a batch script has left behind, as Slurm does at its end. Gives up on processes that do not
/// end, as on a file system that does not answer.
void ChildMonitor::kill_rest() const {
    constexpr int rounds_max = 200;
    for (int round = 0; round < rounds_max && orphans_ != nullptr && orphans_->reap(); ++round) {
        signal_all(SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace det::launch::wrap_rank
