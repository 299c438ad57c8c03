#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/launch/launchers/worker.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// slurm.warm_start: on each node of a job a process keeps interpreters ready that have imported torch, and
// that live through the restarts of a run. See README.md of launch.
namespace det::launch::launchers {

/// What DET_WARM_START says: NAME:DIRECTORY.
struct WarmStartPlace {
    std::string name;                 // of the sockets, the same on all nodes; it has the job and the trial
    std::filesystem::path directory;  // on the shared file system, for nodes on which no rank has started yet
    friend bool operator==(WarmStartPlace const&, WarmStartPlace const&) = default;
};
std::string to_string(WarmStartPlace const& place);
std::optional<WarmStartPlace> parse_warm_start_place(std::string_view text);

/// A Python program, as the process that starts it would have started the interpreter.
struct WarmProgram {
    std::vector<std::string> argv;  // the path of the interpreter, then `SCRIPT ARG...` or `-m MODULE ARG...`
    Environment environment;
    std::string directory;  // the working directory
    int umask = 0;
    std::vector<int> processors = {};      // that it may use
    std::vector<int> blocked = {};         // signals
    std::vector<std::string> limits = {};  // "RESOURCE:SOFT:HARD", numbers as in <sys/resource.h>
};

/// The words of a command whose program is a Python interpreter, and whose options an interpreter that runs
/// already can follow; nullopt: it is another program, or has other options. Pure, but for the look for the
/// interpreter in PATH.
std::optional<std::vector<std::string>> find_python_program(std::vector<std::string> const& command,
                                                            Environment const& environment);

/// Programs with the same key can be run by the same interpreter. Packages read the environment, and count
/// the processors, when they are imported, so the key has their number and all variables, except those of the
/// rank, the run and the step. Paths in the directory of the run count as the same. Pure.
std::string warm_key(WarmProgram const& program);

/// The numbers in decimal, with spaces between them. Pure.
std::string join_numbers(std::vector<int> const& numbers);

/// The message to an interpreter: its size, and fields that end with NUL (warm_interpreter.py). Pure.
std::string render_warm_program(WarmProgram const& program);
/// Reads the fields behind the size. nullopt if the message is damaged.
std::optional<WarmProgram> parse_warm_program(std::string_view message);

/// Lets an interpreter that waits on this node run the command. Passes signals on, and returns when the
/// program has ended, and all that it has started.
/// \param warn gets the reason if this command can never start this way
/// \return nullopt if no interpreter waits: the caller then starts the command itself. The next start of the
///     same command finds one.
Result<std::optional<WorkerEnd>> run_warm(std::vector<std::string> const& command,
                                          Environment const& environment,
                                          std::function<void(std::string const&)> const& warn);

/// Keeps interpreters for what run_warm() asks for, on this node and, by the files in the directory, on other
/// ones. Returns when the input has ended, or at once if another process does the same.
/// \param interpreter the path of warm_interpreter.py
/// \param input ends when the interpreters are to end
/// \param show is called at the beginning, unless another process does the same, and when there is a first
///     interpreter or none any more
Status keep_interpreters(WarmStartPlace const& place, Environment const& environment,
                         std::filesystem::path const& interpreter, int input,
                         std::function<void(bool has_interpreter)> const& show);

}  // namespace det::launch::launchers
