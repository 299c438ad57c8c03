#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace det {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t output_limit_bytes = std::size_t{256} << 20;

/// A child process. The destructor kills its process group and reaps it if wait_until() has not reaped it.
class Child {
public:
    explicit Child(pid_t pid) : pid_(pid) {}
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    ~Child() {
        if (pid_ > 0) kill_and_wait();
    }
    Child& operator=(Child&&) = delete;

    /// Reaps the child and returns its wait status; nullopt if it still runs at the deadline.
    std::optional<int> wait_until(SteadyClock::time_point deadline) {
        auto const process = open_pidfd(pid_);
        while (process) {
            pollfd polled{process.get(), POLLIN, 0};
            auto const ready = ::poll(&polled, 1, poll_timeout_ms(deadline, SteadyClock::now()));
            if (ready > 0) return wait();
            if (ready == 0) return std::nullopt;
            if (errno != EINTR) break;
        }
        return wait_without_pidfd(deadline);
    }
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }
    int kill_and_wait() {
        ::kill(-pid_, SIGKILL);
        return wait();
    }

private:
    /// Like wait_until(), if no pidfd can be opened, for example because no file descriptor is free.
    std::optional<int> wait_without_pidfd(SteadyClock::time_point deadline) {
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (SteadyClock::now() >= deadline) return std::nullopt;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        pid_ = -1;
        return status;
    }

    pid_t pid_;
};

/// A started program, its output pipes and what was read from them.
struct Running {
    Command const* command;
    Child child;
    UniqueFd out, err;
    SteadyClock::time_point deadline;
    ProcessOutput output = {};
    bool is_late = false;               // the deadline passed before it closed its pipes
    bool has_said_last = false;         // it has printed Command::last_message
    std::optional<Error> failure = {};  // of reading the output

    bool is_read() const { return (out || err) && !is_late && !has_said_last && !failure; }
};

/// Reads once from a pipe that poll(2) has reported. Closes it at its end.
void take(UniqueFd& fd, short events, std::string& into) {
    if (events == 0) return;
    std::array<char, 65536> buffer;
    auto const count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) fd.reset();
}

void take_output(Running& program, short out_events, short err_events, SteadyClock::time_point polled_at) {
    auto& output = program.output;
    program.is_late = out_events == 0 && err_events == 0 && program.deadline <= polled_at;
    take(program.out, out_events, output.out);
    take(program.err, err_events, output.err);
    auto const& last = program.command->last_message;
    program.has_said_last = !last.empty() && output.err.find(last) != std::string::npos;
    if (output.out.size() + output.err.size() > output_limit_bytes) {
        program.failure = Error{codes::process,
                                fmt::format("a program wrote more than {}", format_size(output_limit_bytes))};
    }
}

/// Reads the output of all programs, until each has closed both pipes or its deadline passes.
void read_outputs(std::vector<Running*> programs) {
    for (;;) {
        std::erase_if(programs, [](auto const* program) { return !program->is_read(); });
        if (programs.empty()) return;
        std::vector<pollfd> polled;
        for (auto const* program : programs) {
            polled.push_back({program->out.get(), POLLIN, 0});
            polled.push_back({program->err.get(), POLLIN, 0});
        }
        auto const first = (*std::ranges::min_element(programs, {}, &Running::deadline))->deadline;
        auto const now = SteadyClock::now();
        auto const ready = ::poll(polled.data(), polled.size(), poll_timeout_ms(first, now));
        if (ready < 0 && errno == EINTR) continue;
        auto const error =
            ready < 0 ? std::optional(os_error("wait for a program's output", errno)) : std::nullopt;
        for (std::size_t i = 0; i < programs.size(); ++i) {
            programs[i]->failure = error;
            if (!error) take_output(*programs[i], polled[2 * i].revents, polled[2 * i + 1].revents, now);
        }
    }
}

/// \param input null: the program has an empty input
Result<Running> start(Command const& command, ChildSignals signals, UniqueFd const* input = nullptr) {
    DET_TRY_ASSIGN(auto out, make_pipe());
    DET_TRY_ASSIGN(auto err, make_pipe());
    SpawnSettings settings;
    if (input != nullptr) {
        settings.connect(*input, STDIN_FILENO);
    } else {
        settings.without_input();
    }
    settings.connect(out.write_end, STDOUT_FILENO);
    settings.connect(err.write_end, STDERR_FILENO);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    if (signals == ChildSignals::none_blocked) settings.block(none);
    settings.handle_by_default(all);
    settings.in_own_group();  // a timeout kills the group, and with it the program's children
    DET_TRY_ASSIGN(auto const pid, spawn(command.argv, command.environment, settings));
    return Running{&command, Child(pid), std::move(out.read_end), std::move(err.read_end),
                   SteadyClock::now() + command.timeout};
}

/// Ends a program whose output was read.
Result<ProcessOutput> finish(Running running) {
    if (running.failure) return *std::move(running.failure);
    std::optional<int> status;
    if (running.has_said_last) {
        status = running.child.kill_and_wait();
    } else if (!running.is_late) {
        status = running.child.wait_until(running.deadline);
    }
    if (!status) {
        auto const& command = *running.command;
        return Error{codes::timed_out, fmt::format("'{}' did not end within {} s", command.argv[0],
                                                   std::chrono::duration<double>(command.timeout).count())};
    }
    running.output.exit_code = exit_code_of_wait_status(*status);
    return std::move(running.output);
}

/// A program whose input is a pipe. This process keeps the read end too: so it can write although the program
/// has ended, and sees in the end what the program has not read.
class PipedProgram final : public WaitingProgram {
public:
    static std::unique_ptr<WaitingProgram> start(Command command, ChildSignals signals) {
        auto input = make_pipe();
        if (!input) return nullptr;
        auto program = std::make_unique<PipedProgram>(std::move(command), *std::move(input));
        auto running = det::start(program->command_, signals, &program->input_.read_end);
        if (!running) return nullptr;
        program->running_.emplace(*std::move(running));
        return program;
    }
    PipedProgram(Command command, Pipe input) : command_(std::move(command)), input_(std::move(input)) {}

    Result<ProcessOutput> finish(std::string_view input) override {
        DET_TRY(write_all(input_.write_end.get(), input, "the input of a program"));
        input_.write_end.reset();
        running_->deadline = SteadyClock::now() + command_.timeout;
        read_outputs({&*running_});
        DET_TRY_ASSIGN(auto output, det::finish(*std::move(running_)));
        int unread = 0;
        if (::ioctl(input_.read_end.get(), FIONREAD, &unread) == 0 && unread > 0)
            return Error{codes::process, fmt::format("'{}' has not read its input", command_.argv[0])};
        return output;
    }

private:
    Command command_;
    Pipe input_;
    std::optional<Running> running_;  // refers to command_
};

}  // namespace

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

CStrings::CStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (auto& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
}

Error replace_process(std::vector<std::string> const& argv, Environment const& environment) {
    CStrings const arguments(argv);
    CStrings const variables(environment.to_list());
    ::execvpe(arguments.data()[0], arguments.data(), variables.data());
    return os_error(fmt::format("start '{}'", argv.front()), errno);
}

void end_by_signal(int number) {
    ::signal(number, SIG_DFL);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, number);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::raise(number);
}

int exit_code_of_wait_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::vector<Result<ProcessOutput>> ProcessRunner::run_all(std::vector<Command> const& commands) {
    std::vector<Result<ProcessOutput>> outputs;
    for (auto const& command : commands) outputs.push_back(run(command));
    return outputs;
}

std::unique_ptr<WaitingProgram> ProcessRunner::start_ahead(Command) { return nullptr; }

std::unique_ptr<WaitingProgram> SystemProcessRunner::start_ahead(Command command) {
    return PipedProgram::start(std::move(command), signals_);
}

Result<ProcessOutput> SystemProcessRunner::run(Command const& command) {
    DET_TRY_ASSIGN(auto running, start(command, signals_));
    read_outputs({&running});
    return finish(std::move(running));
}

std::vector<Result<ProcessOutput>> SystemProcessRunner::run_all(std::vector<Command> const& commands) {
    std::vector<Result<Running>> started;
    for (auto const& command : commands) started.push_back(start(command, signals_));
    std::vector<Running*> programs;
    for (auto& each : started) {
        if (each) programs.push_back(&*each);
    }
    read_outputs(std::move(programs));
    std::vector<Result<ProcessOutput>> outputs;
    for (auto& each : started) {
        outputs.push_back(each ? finish(*std::move(each)) : std::move(each).error());
    }
    return outputs;
}

}  // namespace det
