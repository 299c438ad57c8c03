#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det {

struct Command {
    std::vector<std::string> argv;  // argv[0] is looked up in the PATH of this process, not of `environment`
    Environment environment;        // all variables of the program
    std::chrono::milliseconds timeout = std::chrono::seconds(30);
    // Once the standard error contains this text, the process group is killed, and the output so far is
    // returned; empty: never
    std::string last_message = {};
};

/// The exit code and the output of a process.
struct ProcessOutput {
    int exit_code = 0;  // 128 + signal if a signal ended it, as in shells
    std::string out;
    std::string err;
};

/// A program that was started before its input was known, and waits for it. The destructor kills its process
/// group if finish() was not called.
class WaitingProgram {
public:
    virtual ~WaitingProgram() = default;
    /// Gives the program its input, and waits like ProcessRunner::run(); the timeout begins here.
    /// codes::process also if the program has not read the input. Call it once. \param input at most 4096
    /// bytes (PIPE_BUF), so that writing it never waits
    virtual Result<ProcessOutput> finish(std::string_view input) = 0;
};

/// The interface for running other programs, so that tests can replace them.
class ProcessRunner {
public:
    virtual ~ProcessRunner() = default;
    /// Runs the program with empty input and waits until it has ended and its output pipes are closed.
    /// codes::no_such_file if the program does not exist, codes::timed_out if that takes longer than the
    /// timeout, codes::process if it writes more than 256 MiB; in these two cases its process group is
    /// killed. A non-zero exit code is not an error.
    virtual Result<ProcessOutput> run(Command const& command) = 0;
    /// Runs all commands like run() and returns the results in the order of the commands. The commands may
    /// run concurrently.
    virtual std::vector<Result<ProcessOutput>> run_all(std::vector<Command> const& commands);
    /// Starts a program that reads its input later. If this process ends before, the input of the program is
    /// empty. Null if the program can't be started, or if this runner starts none ahead.
    virtual std::unique_ptr<WaitingProgram> start_ahead(Command command);
};

/// Which signals are blocked in a started program.
enum class ChildSignals {
    none_blocked,     // as in programs that a shell starts
    blocked_as_ours,  // as in the calling thread: for programs that must survive a signal to the whole job
};

class SystemProcessRunner final : public ProcessRunner {
public:
    explicit SystemProcessRunner(ChildSignals signals = ChildSignals::none_blocked) : signals_(signals) {}
    Result<ProcessOutput> run(Command const& command) override;
    std::vector<Result<ProcessOutput>> run_all(std::vector<Command> const& commands) override;
    std::unique_ptr<WaitingProgram> start_ahead(Command command) override;

private:
    ChildSignals signals_;
};

/// The null-terminated array of pointers that exec(3) takes.
class CStrings {
public:
    explicit CStrings(std::vector<std::string> strings);
    char* const* data() const { return pointers_.data(); }

private:
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

struct Pipe {
    UniqueFd read_end, write_end;
};
/// Makes a pipe that programs do not inherit.
Result<Pipe> make_pipe();

/// Replaces this process by a program, which is looked up in the PATH of this process (not of `environment`).
/// Returns only on failure.
Error replace_process(std::vector<std::string> const& argv, Environment const& environment);

/// Kills this process with the signal, even if the process ignores, handles or blocks it. A wrapper uses it
/// after a signal has killed its child. Returns if the default action of the signal is not to end a process.
void end_by_signal(int number);

/// The exit code that a shell reports for a status of waitpid(2).
int exit_code_of_wait_status(int wait_status);

}  // namespace det
