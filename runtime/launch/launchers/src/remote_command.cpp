#include <det/foundation/polling.hpp>
#include <det/foundation/signal_sender.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/launchers/remote_command.hpp>
#include <det/launch/launchers/worker.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/setup_lines.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/step_process.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace det::launch::launchers {
namespace {

// The option letters of ssh(1) that take a value, and those that take none.
constexpr std::string_view with_value = "BbcDEeFIiJLlmOopPQRSWw";
constexpr std::string_view without_value = "12346AaCfGgKkMNnqsTtVvXxYy";

Error usage(std::string message) {
    return {codes::usage, std::move(message), "det-rsh [SSH_OPTION...] [USER@]HOST CMD..."};
}

/// Parses one argument with options: "-n", "-qx", "-p22", "-p" "22". Advances `word` to the value of the last
/// option if that is the next argument.
template <class Iterator>
Status take_options(Iterator& word, Iterator end, RemoteCommand& call) {
    std::string_view letters = *word;
    for (letters.remove_prefix(1); !letters.empty(); letters.remove_prefix(1)) {
        char const letter = letters.front();
        if (with_value.find(letter) != std::string_view::npos) {
            bool const value_follows = letters.size() == 1;
            if (value_follows && ++word == end) return usage(fmt::format("option -{} needs a value", letter));
            return Ok{};
        }
        if (without_value.find(letter) == std::string_view::npos) {
            return usage(fmt::format("unknown option -{}", letter));
        }
        if (letter == 'n') call.has_input = false;
        if (letter == 'V') call.wants_version = true;
    }
    return Ok{};
}

bool is_this_node(std::string_view host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Finds the node of this job with this host name. Returns its name in Slurm.
Result<std::string> node_named(std::string_view host, Environment const& environment) {
    if (is_this_node(host)) {
        if (auto own = environment.find_non_empty("SLURMD_NODENAME")) return *std::move(own);
    }
    auto const list = environment.find_non_empty("SLURM_JOB_NODELIST");
    if (!list) {
        return Error{codes::not_in_slurm, "SLURM_JOB_NODELIST is not set: this is no job of Slurm",
                     "det-rsh reaches the nodes of the job that it is called in"};
    }
    DET_TRY_ASSIGN(auto const nodes, expand_host_list(*list));
    for (auto const name : {host, host.substr(0, host.find('.'))}) {
        if (std::ranges::find(nodes, name) != nodes.end()) return std::string(name);
    }
    return Error{codes::misuse, fmt::format("'{}' is no node of this job, which has {}", host, *list),
                 "hosts are named as Slurm names them"};
}

int number_in(Environment const& environment, std::string_view name, int otherwise) {
    auto const text = environment.find_non_empty(name);
    return text ? parse_integer<int>(*text).value_or(otherwise) : otherwise;
}

/// The number of CPUs to request on a node: as many as this step has on this node, at most as many as the
/// smallest node of the job has.
int cpus_of_a_node(Environment const& environment) {
    auto const counts = expand_counts(environment.find("SLURM_JOB_CPUS_PER_NODE").value_or(""));
    int const smallest = counts && !counts->empty() ? *std::ranges::min_element(*counts) : 1;
    return std::max(1, std::min(smallest, number_in(environment, "SLURM_CPUS_ON_NODE", smallest)));
}

using namespace std::chrono_literals;

constexpr auto time_to_end = 3s;  // from the forwarded signal until the command is killed

class RemoteStep {
public:
    RemoteStep(slurm::StepProcess step, Clock const& clock, bool in_run)
        : step_(std::move(step)), clock_(clock), in_run_(in_run) {}

    void on_signal(signalfd_siginfo const& info) {
        auto const number = static_cast<int>(info.ssi_signo);
        bool const is_plain = number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH;
        if (is_plain) {
            step_.signal(number);
        } else if (in_run_ && number == SIGTERM &&
                   is_sent_by_slurm(static_cast<pid_t>(info.ssi_pid), info.ssi_uid)) {
            return;
        } else if (in_run_ || deadline_) {
            end();  // inside a run the command would take TERM for the preemption notice
        } else {
            step_.signal(number == SIGINT ? SIGTERM : number);
            deadline_ = clock_.steady_now() + time_to_end;
        }
    }

    /// Kills the command: srun runs with --quit-on-interrupt, so that one INT ends the step.
    void end() {
        step_.signal(SIGINT);
        deadline_.reset();
    }

    std::optional<std::chrono::steady_clock::time_point> deadline() const { return deadline_; }
    bool is_late() const { return deadline_ && clock_.steady_now() >= *deadline_; }
    slurm::StepProcess& step() { return step_; }

private:
    slurm::StepProcess step_;
    Clock const& clock_;
    bool in_run_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
};

}  // namespace

Result<RemoteCommand> parse_arguments(std::vector<std::string> const& arguments) {
    RemoteCommand call;
    auto word = arguments.begin();
    for (; word != arguments.end(); ++word) {
        if (*word == "--") {
            if (call.host.empty()) continue;
            ++word;
            break;
        }
        if (word->size() > 1 && word->front() == '-') {
            DET_TRY(take_options(word, arguments.end(), call));
        } else if (call.host.empty()) {
            call.host = word->substr(word->rfind('@') + 1);
            if (call.host.empty()) return usage("the host is empty");
        } else {
            break;
        }
    }
    if (call.wants_version) return call;
    if (call.host.empty()) return usage("a host is missing");
    call.shell_line = join({word, arguments.end()}, " ");
    if (call.shell_line.empty()) return usage("a command is missing: there are no shells on other nodes");
    return call;
}

Result<slurm::CommandOnNodes> plan_step(RemoteCommand const& command, Environment const& environment,
                                        std::string const& wrap_rank) {
    DET_TRY_ASSIGN(auto node, node_named(command.host, environment));
    auto step = plan_step_on({std::move(node)}, command.shell_line, environment, wrap_rank);
    step.has_input = command.has_input;
    return step;
}

slurm::CommandOnNodes plan_step_on(std::vector<std::string> nodes, std::string const& shell_line,
                                   Environment const& environment, std::string const& wrap_rank) {
    slurm::CommandOnNodes step;
    step.nodes = std::move(nodes);
    step.cpus = cpus_of_a_node(environment);
    step.gpus = number_in(environment, "SLURM_GPUS_ON_NODE", 0);
    step.has_input = false;
    if (environment.find_non_empty(variables::run_key)) {
        step.command = {wrap_rank, "--node"};
        // The step starts in /, because the run's directory may not exist on that node yet. The wrapper
        // changes to it.
        step.directory.push_back('/');
    }
    if (environment.find_non_empty(variables::setup)) {
        auto const words = setup_command_prefix();
        step.command.insert(step.command.end(), words.begin(), words.end());
    }
    step.command.insert(step.command.end(), {"/bin/sh", "-c", shell_line});
    return step;
}

Environment without_step_variables(Environment environment) {
    for (auto const* name :
         {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES", "SLURM_CPUS_PER_TASK",
          "SLURM_TRES_PER_TASK", "SLURM_CPU_BIND", "SLURM_GPUS_PER_TASK", "SLURM_DISTRIBUTION",
          "SLURM_NODELIST", "SLURM_MPI_TYPE", "SLURM_STEP_GRES", "SLURM_EXACT", "SLURM_WHOLE"}) {
        environment.unset(name);
    }
    return environment;
}

Result<int> run_remotely(slurm::CommandOnNodes const& request, Environment const& environment,
                         Clock const& clock) {
    auto const parent = open_pidfd(::getppid());
    auto const path = environment.find_non_empty(socket_variable);
    auto const watch = path ? connect_to(*path) : std::nullopt;
    if (watch) send_message(*watch, WorkerHello{WorkerHello::Kind::remote, join(request.nodes, ",")});
    DET_TRY_ASSIGN(
        auto const signals,
        SignalReader::open(signal_set({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}),
                           SignalReader::AtEnd::stay_blocked));
    DET_TRY_ASSIGN(auto step, slurm::StepProcess::start_with_pdeathsig(slurm::render_srun(request),
                                                                       without_step_variables(environment)));
    RemoteStep remote(std::move(step), clock, environment.find_non_empty(variables::run_key).has_value());
    pollfd polled[] = {{remote.step().pidfd(), POLLIN, 0},
                       {signals.fd(), POLLIN, 0},
                       {parent.get(), POLLIN, 0},
                       {watch ? watch->get() : -1, POLLIN, 0}};
    for (;;) {
        if (::poll(polled, std::size(polled), poll_timeout_ms(remote.deadline(), clock.steady_now())) < 0 &&
            errno != EINTR) {
            return os_error("wait", errno);
        }
        while (auto const info = signals.take()) remote.on_signal(*info);
        for (auto* gone : {&polled[2], &polled[3]}) {
            if (gone->revents == 0) continue;
            remote.end();
            gone->fd = -1;
        }
        if (remote.is_late()) remote.end();
        if (auto const exit_code = remote.step().poll_exit()) {
            if (watch) send_message(*watch, WorkerExit{*exit_code});
            return *exit_code;
        }
    }
}

}  // namespace det::launch::launchers
