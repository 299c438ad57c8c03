// det-launch: the program that jobs run. The last line of a batch script calls `trial`, det-wrap-rank calls
// `prepare-node`, and entrypoints call the launchers.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/line_queue.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/launchers/help_pages.hpp>
#include <det/launch/launchers/launchers.hpp>
#include <det/launch/launchers/warm_start.hpp>
#include <det/launch/launchers/worker.hpp>
#include <det/launch/node/srun_shim.hpp>
#include <det/launch/supervisor/job_output.hpp>
#include <det/launch/supervisor/keeper_link.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/launch/supervisor/node_health.hpp>
#include <det/launch/supervisor/prepare_node.hpp>
#include <det/launch/supervisor/stage_node.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>
#include <det/protocol/step_run.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/protocol/trusted_ancestors.hpp>
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <memory>
#include <unistd.h>

#include "execute_plan.hpp"
#include "measure_usage.hpp"
#include "preflight.hpp"
#include "prepare_container.hpp"
#include "prepare_rank_shell.hpp"
#include "record_done.hpp"
#include "sample_node.hpp"
#include "script_in_job.hpp"

namespace {

using namespace det;
using namespace det::launch;
using Arguments = std::vector<std::string>;

int fail(Error const& error) {
    print(std::cerr, error, {Colour::never, "det-launch"});
    return to_int(error.code.exit);
}

/// Parses "--name value" pairs; all names are required, except `optional`.
Result<std::map<std::string, std::string>> parse_options(Arguments const& arguments, Arguments const& names,
                                                         std::string const& optional = {}) {
    std::map<std::string, std::string> options;
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) options[arguments[i]] = arguments[i + 1];
    auto const count = names.size() + options.count(optional);
    bool const complete = arguments.size() == 2 * count && options.size() == count;
    for (auto const& name : names) {
        if (!complete || !options.contains(name)) {
            return Error{codes::usage, "the options are " + join(names, " VALUE, ") + " VALUE"};
        }
    }
    return options;
}

/// The output of the job, after this process has opened another one for itself.
struct JobOutput {
    UniqueFd out, err;
};

/// Slurm's output file of a batch script belongs to the user's script. Opens the experiment's file for what
/// this process and Slurm's commands print.
Result<JobOutput> leave_output_to_script(supervisor::BatchJob const& batch_job) {
    auto const path = batch_job.experiment.slurm_output(slurm::to_string(batch_job.job));
    UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    share_new_file(file.get(), path);
    JobOutput job{UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)),
                  UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0))};
    if (!job.out || !job.err) return os_error("duplicate the job's output", errno);
    for (int const standard : {STDOUT_FILENO, STDERR_FILENO}) {
        if (::dup2(file.get(), standard) < 0) return os_error("redirect the output", errno);
    }
    return job;
}

/// det-batch starts this process with all signals blocked that Slurm may send to a batch script. Others than
/// those of the supervisor end it, unless it runs such a script.
void unblock_other_signals() {
    sigset_t others;
    ::sigfillset(&others);
    for (int const own : {SIGTERM, SIGURG, SIGUSR2}) ::sigdelset(&others, own);
    ::sigprocmask(SIG_UNBLOCK, &others, nullptr);
}

Result<int> trial(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options,
                   parse_options(arguments, {"--experiment", "--trial"}, trusted_ancestors_option));
    auto const index = parse_integer<std::uint32_t>(options["--trial"]);
    if (!index) return Error{codes::usage, "'" + options["--trial"] + "' is not the index of a trial"};
    auto environment = Environment::of_this_process();
    // The job's environment may be that of another job, in which the user submitted this one.
    environment.unset(variables::trusted_ancestors);
    if (auto const& list = options[trusted_ancestors_option]; !list.empty())
        environment.set(variables::trusted_ancestors, list);
    DET_TRY_ASSIGN(auto const batch_job,
                   supervisor::load_batch_job(options["--experiment"], *index, environment));
    JobOutput script;
    if (batch_job.is_script()) {
        DET_TRY_ASSIGN(script, leave_output_to_script(batch_job));
    } else {
        unblock_other_signals();
    }
    environment.unset(supervisor::batch_process_variable);
    environment.unset(supervisor::supervisor_restarts_variable);
    // Slurm's SIGTERM may reach every process of the job. It must not end an scontrol that requeues the job.
    SystemProcessRunner runner(ChildSignals::blocked_as_ours);
    SystemClock clock;
    slurm::CommandClient slurm(runner, environment);
    // Slurm's output file is on the shared file system too: if that does not answer, the supervisor goes on.
    LineQueue output("det-log", [](std::string_view lines, std::size_t missing) {
        (void)write_all(STDOUT_FILENO, lines, "standard output");
        if (missing > 0)
            (void)write_all(STDOUT_FILENO, fmt::format("det-launch: {} lines are missing here\n", missing),
                            "standard output");
    });
    auto const log = [&](std::string const& line) {
        output.append(fmt::format("{} det-launch: {}\n", format_utc(clock.now()), escape_control(line)));
    };
    auto const end_process = [&](Error const& error) {
        log(fmt::format("error: {} [{}]", error.message, error.code.name));
        log(fmt::format("hint: {}", error.hint));
        (void)output.flush_for(std::chrono::seconds(5));  // the output may be on the same file system
        ::_exit(to_int(error.code.exit));
    };
    auto const ended = supervisor::supervise_trials(
        batch_job,
        {slurm, clock, environment, sibling_program("det-wrap-rank"), log, end_process, "/proc/self/fd/2",
         script.out ? script.out.get() : -1, script.err ? script.err.get() : -1});
    bool const may_remove_output = ended && *ended == 0 && !batch_job.is_script();
    if (may_remove_output && output.flush_for(std::chrono::seconds(5)))
        supervisor::remove_repeated_output(batch_job);
    return ended;
}

Result<int> prepare_node(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--run-dir"}));
    DET_TRY(supervisor::prepare_node(options["--run-dir"], Environment::of_this_process()));
    return 0;
}

Result<int> stage_node(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options,
                   parse_options(arguments, {"--directory", "--hosts", "--code-bytes", "--wait-s"}));
    auto const code_bytes = parse_integer<std::uint64_t>(options["--code-bytes"]);
    auto const wait_s = parse_integer<std::uint32_t>(options["--wait-s"]);
    if (!code_bytes || !wait_s) return Error{codes::usage, "--code-bytes and --wait-s are numbers"};
    DET_TRY(supervisor::stage_node(
        {options["--directory"], options["--hosts"], *code_bytes, std::chrono::seconds(*wait_s)},
        Environment::of_this_process()));
    return 0;
}

Result<int> remove_snapshots(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--job", "--trial"}));
    DET_TRY(supervisor::remove_memory_snapshots(
        {checkpoint::shared_memory, options["--job"], options["--trial"], ""}));
    return 0;
}

Result<int> unpack_context(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--archive", "--sha256", "--directory"}));
    DET_TRY(supervisor::unpack_archive(options["--archive"], options["--sha256"], options["--directory"]));
    return 0;
}

ProgramPaths program_paths() {
    return {sibling_program("det-launch"), sibling_program("det-wrap-rank"), sibling_program("det-rsh")};
}

void log(std::string const& line) { std::cerr << "det-launch: " << escape_control(line) << std::endl; }

using Planner = Result<launchers::LaunchPlan> (*)(Arguments const&, launchers::LaunchContext);

Result<int> run_launcher(Planner planner, Arguments const& arguments) {
    auto environment = Environment::of_this_process();
    bool const queries_torch =
        planner == launchers::plan_torch_distributed && launchers::uses_torchrun(arguments, environment);
    DET_TRY_ASSIGN(auto const context,
                   read_launch_context(std::move(environment), program_paths(), queries_torch));
    DET_TRY_ASSIGN(auto const plan, planner(arguments, context));
    return execute_plan(plan, context, program_paths(), log);
}

/// Ends as a command has ended.
int end_as(launchers::WorkerEnd const& end) {
    if (end.signal != 0) end_by_signal(end.signal);
    return end.exit_code;
}

/// Runs the command of a rank that a launcher has started.
Result<int> worker(Arguments const& arguments) {
    if (arguments.empty()) return Error{codes::usage, "det-launch worker needs a command"};
    DET_TRY_ASSIGN(auto const end, launchers::run_worker(arguments, Environment::of_this_process()));
    return end_as(end);
}

/// Lets an interpreter that waits run the command, or becomes the command.
Result<int> warm_start(Arguments const& arguments) {
    if (arguments.empty()) return Error{codes::usage, "det-launch warm-start needs a command"};
    auto const environment = Environment::of_this_process();
    DET_TRY_ASSIGN(auto const end, launchers::run_warm(arguments, environment, log));
    if (end) return end_as(*end);
    return replace_process(arguments, environment);
}

Result<int> contain(Arguments const& arguments) {
    if (arguments.empty()) return Error{codes::usage, "det-launch contain needs a command"};
    auto const log = [](std::string_view line) { std::cerr << "det-launch: " << line << std::endl; };
    auto const programs = own_executable().parent_path();
    DET_TRY_ASSIGN(auto const process,
                   prepare_container(arguments, Environment::of_this_process(), programs, log));
    return replace_process(process.argv, process.environment);
}

Result<int> nested_srun(Arguments const& arguments) {
    auto const environment = Environment::of_this_process();
    DET_TRY_ASSIGN(auto const argv, node::plan_nested_srun(arguments, environment));
    return replace_process(argv, environment);
}

Result<int> done(Arguments const& arguments) {
    if (!arguments.empty()) return Error{codes::usage, "det-launch done takes no arguments"};
    DET_TRY(record_done(Environment::of_this_process()));
    return 0;
}

Result<int> script(Arguments const& arguments) {
    return run_script_in_job(arguments, Environment::of_this_process());
}

/// Slurm's notice may reach every process of the job: only the end of the input ends this one.
void block_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

Result<int> measure(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--file", "--window-ms", "--run-key", "--gpus"}));
    auto const window_ms = parse_integer<std::uint32_t>(options["--window-ms"]);
    if (!window_ms || *window_ms < 500) return Error{codes::usage, "--window-ms is at least 500"};
    block_signals();
    measure_usage({options["--file"], std::chrono::milliseconds(*window_ms), options["--run-key"],
                   options["--gpus"] == "yes"},
                  STDIN_FILENO, SystemClock());
    return 0;
}

Result<int> keep_interpreters(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--place"}));
    auto const place = launchers::parse_warm_start_place(options["--place"]);
    if (!place) return Error{codes::usage, "--place is NAME:DIRECTORY"};
    block_signals();
    auto const package = own_executable().parent_path().parent_path() / "lib/det-submit/python/determined";
    auto const environment = Environment::of_this_process();
    std::unique_ptr<supervisor::KeeperLink> link;
    auto const show = [&](bool has_interpreter) {
        if (!link) link = supervisor::KeeperLink::open(environment);
        if (link) link->show(has_interpreter);
    };
    DET_TRY(launchers::keep_interpreters(*place, environment, package / "exec/warm_interpreter.py",
                                         STDIN_FILENO, show));
    return 0;
}

Result<int> sample(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--journal", "--interval-ms", "--samples"}));
    auto const interval_ms = parse_integer<std::uint32_t>(options["--interval-ms"]);
    auto const samples = parse_integer<std::uint32_t>(options["--samples"]);
    if (!interval_ms || *interval_ms < 100 || !samples || *samples == 0)
        return Error{codes::usage, "--interval-ms is at least 100, --samples at least 1"};
    block_signals();
    DET_TRY(sample_node({options["--journal"], std::chrono::milliseconds(*interval_ms), *samples},
                        STDIN_FILENO, SystemClock()));
    return 0;
}

Result<int> preflight(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options,
                   parse_options(arguments, {"--directory", "--token", "--storage", "--container-runtime"}));
    DET_TRY(run_preflight(
        {options["--directory"], options["--token"], options["--storage"], options["--container-runtime"]},
        Environment::of_this_process()));
    return 0;
}

Result<int> check_health(Arguments const& arguments) {
    auto const separator = std::ranges::find(arguments, "--");
    DET_TRY_ASSIGN(auto options, parse_options({arguments.begin(), separator},
                                               {"--directory", "--token", "--storage", "--hosts", "--port",
                                                "--gpus", "--command-timeout-s"}));
    auto const port = parse_integer<std::uint16_t>(options["--port"]);
    auto const gpus = parse_integer<int>(options["--gpus"]);
    auto const timeout_s = parse_integer<std::int64_t>(options["--command-timeout-s"]);
    if (!port || !gpus || !timeout_s)
        return Error{codes::usage, "--port, --gpus and --command-timeout-s are numbers"};
    supervisor::HealthCheck check{
        options["--directory"], options["--token"], options["--storage"], options["--hosts"], *port, *gpus};
    if (separator != arguments.end()) check.command.assign(separator + 1, arguments.end());
    check.command_timeout = std::chrono::seconds(*timeout_s);
    DET_TRY(supervisor::check_node_health(check, Environment::of_this_process()));
    return 0;
}

Result<int> enter(Arguments const& arguments) {
    auto const separator = std::ranges::find(arguments, "--");
    DET_TRY_ASSIGN(auto options, parse_options({arguments.begin(), separator}, {"--run-path", "--rank"}));
    auto const rank = parse_integer<std::uint32_t>(options["--rank"]);
    if (!rank) return Error{codes::usage, "'" + options["--rank"] + "' is no rank"};
    Arguments command;
    if (separator != arguments.end()) command.assign(separator + 1, arguments.end());
    DET_TRY_ASSIGN(auto const program, prepare_rank_shell({options["--run-path"], *rank, std::move(command)},
                                                          Environment::of_this_process()));
    if (::chdir(program.directory.c_str()) != 0)
        return os_error("change to '" + program.directory.string() + "'", errno);
    return replace_process(program.argv, program.environment);
}

struct Subcommand {
    std::string_view name, help;
    Result<int> (*run)(Arguments const&);
};

constexpr Subcommand subcommands[] = {
    {"script", "SCRIPT [ARG...]: the job of sbatch is an experiment (det-launch script --help)", script},
    {"done", "the program has finished: its end after a notice is no preemption (det-launch done --help)",
     done},
    {"trial",
     "supervise the trials of a job: [--trusted-ancestors DIR[:DIR...]] --experiment DIR --trial INDEX, the "
     "last "
     "line of a batch script",
     trial},
    {"prepare-node", "add what an experiment has: --run-dir DIR, called by det-wrap-rank", prepare_node},
    {"stage-node",
     "--directory DIR --hosts LIST --code-bytes N --wait-s N: bring files to the disk of this node, called "
     "by "
     "'det-launch "
     "trial' (slurm.stage)",
     stage_node},
    {"remove-snapshots",
     "--job N --trial ID: remove what its ranks have kept in /dev/shm, called by 'det-launch trial' "
     "(slurm.memory_checkpoints)",
     remove_snapshots},
    {"sample-node",
     "write the system metrics of this node until the input ends: --journal FILE --interval-ms N --samples N",
     sample},
    {"measure-usage",
     "how much a run uses this node, until the input ends: --file FILE --window-ms N --run-key KEY --gpus "
     "yes|no (slurm.idle_timeout)",
     measure},
    {"unpack-context", "--archive FILE --sha256 HASH --directory DIR, called by det-submit", unpack_context},
    {"enter", "--run-path DIR --rank N [-- CMD...]: beside a rank of this node, for 'det-submit trial shell'",
     enter},
    {"preflight",
     "what this node sees: --directory DIR --token TEXT --storage DIR --container-runtime PROGRAM, for "
     "'det-submit site "
     "try'",
     preflight},
    {"check-health",
     "whether a run should start on this node: --directory DIR --token TEXT --storage DIR --hosts LIST "
     "--port N "
     "--gpus N --command-timeout-s N [-- CMD...], called by 'det-launch trial' (slurm.health_check)",
     check_health},
    {"contain", "CMD...: run it in the experiment's container", contain},
    {"nested-srun", "ARG...: srun, called inside a run; a step that the first node starts already is refused",
     nested_srun},
    {"keep-interpreters",
     "--place NAME:DIRECTORY: interpreters that wait for the next run, until the input ends, called by "
     "'det-launch "
     "trial' (slurm.warm_start)",
     keep_interpreters},
    {"warm-start", "CMD...: run a Python program in such an interpreter, if one waits", warm_start},
    {"worker", "CMD...: a rank below a launcher: reports its exit code", worker},
};

int print_usage(std::ostream& out) {
    out << "usage: det-launch SUBCOMMAND ...\n\nEntrypoints (det-launch LAUNCHER --help):\n";
    for (auto const& launcher : launchers::all_launchers()) {
        out << "  " << launcher.name << "  " << launcher.help << '\n';
    }
    out << "  CMD...  start CMD once per slot (det-launch processes --help)\n\nFor jobs:\n";
    for (auto const& subcommand : subcommands)
        out << "  " << subcommand.name << "  " << subcommand.help << '\n';
    return &out == &std::cout ? 0 : to_int(ExitCode::usage);
}

bool asks_for_help(Arguments const& arguments) {
    return !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
}

Result<int> run(std::string const& name, Arguments const& arguments) {
    if (auto const page = launchers::find_page(name); asks_for_help(arguments) && !page.empty()) {
        std::cout << page;
        return 0;
    }
    for (auto const& subcommand : subcommands) {
        if (name == subcommand.name) return subcommand.run(arguments);
    }
    if (auto const* launcher = launchers::find_launcher(name)) return run_launcher(launcher->plan, arguments);
    Arguments command{name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_launcher(launchers::plan_processes, command);
}

}  // namespace

int main(int argc, char** argv) try {
    Arguments const arguments(argv + 1, argv + argc);
    // The plugin has put this program in place of a batch script, before Slurm 23.11.
    if (auto const script_path = Environment::of_this_process().find_non_empty(variables::wrapped_command);
        script_path && is_wrapper_argv0(argv[0])) {
        ::unsetenv(variables::wrapped_command);
        Arguments call{*script_path};
        call.insert(call.end(), arguments.begin(), arguments.end());
        return fail(run_script_in_job(call, Environment::of_this_process()));
    }
    if (arguments.empty()) return print_usage(std::cerr);
    if (asks_for_help(arguments) || arguments[0] == "help") return print_usage(std::cout);
    if (arguments[0].starts_with('-')) return print_usage(std::cerr);
    auto const result = run(arguments[0], {arguments.begin() + 1, arguments.end()});
    return result ? *result : fail(result.error());
} catch (std::exception const& surprise) {
    return fail(Error{codes::internal, surprise.what(), "please report this"});
}
