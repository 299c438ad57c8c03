#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace det {

struct Command {
    std::vector<std::string> argv;  // argv[0] is looked up in PATH
    Environment environment;        // all of it; its standard input is empty
    std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

/// How a process ended, and what it wrote.
struct ProcessOutput {
    int exit_code = 0;  // 128 + signal where a signal ended it, as shells say
    std::string out;
    std::string err;
};

/// The seam to other programs: Slurm's commands are started through it and nothing else is.
class ProcessRunner {
public:
    virtual ~ProcessRunner() = default;
    /// Runs to the end. A program that is not there, or that outlives its timeout (it is killed), is an
    /// error; one that fails is not.
    virtual Result<ProcessOutput> run(Command const& command) = 0;
    /// Each as run() does, in the order given; an implementation may run them side by side.
    virtual std::vector<Result<ProcessOutput>> run_all(std::vector<Command> const& commands);
};

/// Which signals are blocked in programs that are started.
enum class ChildSignals {
    none_blocked,     // as a shell starts them
    blocked_as_ours,  // for programs that must outlive a signal which the whole job gets
};

class SystemProcessRunner final : public ProcessRunner {
public:
    explicit SystemProcessRunner(ChildSignals signals = ChildSignals::none_blocked) : signals_(signals) {}
    Result<ProcessOutput> run(Command const& command) override;
    std::vector<Result<ProcessOutput>> run_all(std::vector<Command> const& commands) override;

private:
    ChildSignals signals_;
};

/// Strings as exec(3) wants them: pointers with a null behind the last.
class CStrings {
public:
    explicit CStrings(std::vector<std::string> strings);
    char* const* data() const { return pointers_.data(); }

private:
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

/// Becomes the program, looked up in PATH; returns only where that is not possible.
Error replace_process(std::vector<std::string> const& argv, Environment const& environment);

/// Ends this process by the signal, whatever was arranged for it: for those who stand for another process.
void end_by_signal(int number);

/// The exit code that shells use for what waitpid returned.
int exit_code_of_wait_status(int wait_status);

}  // namespace det
