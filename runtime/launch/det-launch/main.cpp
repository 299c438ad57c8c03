// det-launch: what jobs run. `trial` is the last line of a batch script, `prepare-node` is called by
// det-wrap-rank, the others are launchers for entrypoints.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launchers/mpi.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/command_client.hpp>
#include <det/supervisor/archive.hpp>
#include <det/supervisor/prepare_node.hpp>
#include <det/supervisor/supervise.hpp>

#include <exception>
#include <iostream>
#include <map>

namespace {

using namespace det;
using Arguments = std::vector<std::string>;

int fail(Error const& error) {
    print(std::cerr, error, {Colour::never, "det-launch"});
    return to_int(error.code.exit);
}

/// "--name value" pairs, all of them required.
Result<std::map<std::string, std::string>> parse_options(Arguments const& arguments, Arguments const& names) {
    std::map<std::string, std::string> options;
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) options[arguments[i]] = arguments[i + 1];
    bool const complete = arguments.size() == 2 * names.size() && options.size() == names.size();
    for (auto const& name : names) {
        if (!complete || !options.contains(name)) {
            return Error{codes::usage, "the options are " + join(names, " VALUE, ") + " VALUE"};
        }
    }
    return options;
}

Result<int> trial(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--experiment", "--trial"}));
    auto const index = parse_integer<std::uint32_t>(options["--trial"]);
    if (!index) return Error{codes::usage, "'" + options["--trial"] + "' is not the index of a trial"};
    auto const environment = Environment::of_this_process();
    DET_TRY_ASSIGN(auto const assignment,
                   supervisor::load_assignment(options["--experiment"], *index, environment));
    // Slurm's TERM may go to every process of the job: to scontrol too, in the middle of a requeue.
    SystemProcessRunner runner(ChildSignals::blocked_as_ours);
    SystemClock clock;
    slurm::CommandClient slurm(runner, environment);
    return supervisor::supervise_trials(
        assignment,
        {slurm, clock, environment, sibling_program("det-wrap-rank"), [&](std::string const& line) {
             std::cout << format_utc(clock.now()) << " det-launch: " << escape_control(line) << std::endl;
         }});
}

Result<int> prepare_node(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--run-dir"}));
    DET_TRY(supervisor::prepare_node(options["--run-dir"], Environment::of_this_process()));
    return 0;
}

Result<int> unpack_context(Arguments const& arguments) {
    DET_TRY_ASSIGN(auto options, parse_options(arguments, {"--archive", "--sha256", "--directory"}));
    DET_TRY(supervisor::unpack_archive(options["--archive"], options["--sha256"], options["--directory"]));
    return 0;
}

Result<int> mpi(Arguments const& arguments) {
    auto environment = Environment::of_this_process();
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    if (!run_dir) {
        return Error{codes::not_in_slurm, "DET_RUN_DIR is not set: this is no run of an experiment",
                     "use it as the entrypoint of an experiment with 'slurm: {launch: node}'"};
    }
    auto const path = std::filesystem::path(*run_dir) / info_files::directory / info_files::rendezvous;
    DET_TRY_ASSIGN(auto const text, read_file(path));
    DET_TRY_ASSIGN(auto const rendezvous, parse_rendezvous_info(text));
    DET_TRY_ASSIGN(auto plan, launchers::plan_mpi(arguments, rendezvous, std::move(environment),
                                                  sibling_program("det-wrap-rank")));
    if (plan.argv.empty()) return 0;
    return replace_process(plan.argv, plan.environment);
}

struct Subcommand {
    std::string_view name, help;
    Result<int> (*run)(Arguments const&);
};

constexpr Subcommand subcommands[] = {
    {"trial",
     "supervise the trials of a job: --experiment DIR --trial INDEX, the last line of a batch script", trial},
    {"prepare-node", "add what an experiment has: --run-dir DIR, called by det-wrap-rank", prepare_node},
    {"unpack-context", "--archive FILE --sha256 HASH --directory DIR, called by det-submit", unpack_context},
    {"mpi", "[MPIRUN_OPTION... --] CMD...: start a rank per slot by Open MPI's mpirun", mpi},
};

int print_usage(std::ostream& out) {
    out << "usage: det-launch SUBCOMMAND ...\n";
    for (auto const& subcommand : subcommands)
        out << "  " << subcommand.name << "  " << subcommand.help << '\n';
    return &out == &std::cout ? 0 : to_int(ExitCode::usage);
}

}  // namespace

int main(int argc, char** argv) try {
    Arguments const arguments(argv + 1, argv + argc);
    if (arguments.empty()) return print_usage(std::cerr);
    if (arguments[0] == "--help" || arguments[0] == "help") return print_usage(std::cout);
    for (auto const& subcommand : subcommands) {
        if (arguments[0] != subcommand.name) continue;
        auto const result = subcommand.run({arguments.begin() + 1, arguments.end()});
        return result ? *result : fail(result.error());
    }
    return print_usage(std::cerr);
} catch (std::exception const& surprise) {
    return fail(Error{codes::internal, surprise.what(), "please report this"});
}
