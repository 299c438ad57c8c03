#include "execute_plan.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/launch/launchers/monitor_launch.hpp>
#include <det/launch/launchers/remote_command.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/task_identity.hpp>

#include <arpa/inet.h>
#include <cerrno>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

namespace det::launch {
namespace {

namespace fs = std::filesystem;
using launchers::LaunchContext;

bool is_port_free(std::uint16_t port) {
    UniqueFd const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const yes = 1;  // an earlier run may have left connections in TIME_WAIT
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    return ::bind(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 ||
           errno != EADDRINUSE;
}

/// Finds out what the installed torch needs. If there is none, the launcher fails with its own message.
void query_torch(Environment const& environment, LaunchContext& context) {
    SystemProcessRunner runner;
    auto const answer =
        runner.run({{"python3", "-c", std::string(launchers::torch_query_script)}, environment});
    if (!answer || answer->exit_code != 0) return;
    context.torch_needs_redirects = launchers::needs_redirects(answer->out);
    context.torch_lacks_libuv = launchers::lacks_libuv(answer->out);
}

Status read_trial(fs::path const& info, LaunchContext& context) {
    auto const path = info / info_files::trial;
    if (!path_exists(path)) return Ok{};  // DET_RUN_DIR of a user's own script has no such file
    DET_TRY_ASSIGN(auto const text, read_file(path));
    DET_TRY_ASSIGN(auto trial, parse_trial_info(text));
    context.config = std::move(trial.config);
    context.network_interface = std::move(trial.inter_node_network_interface);
    return Ok{};
}

/// Tells the nodes that wait for the chief that a launch has ended: the chief creates a file in their
/// DET_RUN_DIR. Launches are numbered, because an entrypoint may start several.
class LaunchEnd {
public:
    static Result<LaunchEnd> begin(fs::path const& run_dir) {
        for (int number = 1;; ++number) {
            DET_TRY_ASSIGN(bool const mine, make_directory(run_dir / fmt::format("launch-{}", number)));
            if (mine) return LaunchEnd(run_dir, fmt::format("launch-{}.ended", number));
        }
    }

    Status until_ended() const {
        // Slurm's notice may reach every process of the job. This node must stay until the chief has ended.
        auto const term = signal_set({SIGTERM});
        ::sigprocmask(SIG_BLOCK, &term, nullptr);
        UniqueFd const watch(::inotify_init1(IN_CLOEXEC));
        if (!watch || ::inotify_add_watch(watch.get(), run_dir_.c_str(), IN_CREATE) < 0) {
            return os_error(fmt::format("watch '{}'", run_dir_.string()), errno);
        }
        alignas(inotify_event) char events[4096];
        while (!path_exists(run_dir_ / file_)) (void)!::read(watch.get(), events, sizeof events);
        return Ok{};
    }

    Status announce(std::vector<std::string> const& nodes, Environment const& environment,
                    fs::path const& wrap_rank) const {
        if (nodes.empty()) return Ok{};
        auto const line = fmt::format(": >\"${}/{}\"", variables::run_dir, file_);
        auto const step = launchers::plan_step_on(nodes, line, environment, wrap_rank);
        DET_TRY_ASSIGN(int const exit_code, launchers::run_remotely(step, environment, SystemClock()));
        if (exit_code == 0) return Ok{};
        return Error{codes::process, "the other nodes could not be notified that the launch has ended"};
    }

private:
    LaunchEnd(fs::path run_dir, std::string file) : run_dir_(std::move(run_dir)), file_(std::move(file)) {}

    fs::path run_dir_;
    std::string file_;
};

/// Records the exit code for the supervisor unless the wrapper of a rank has recorded one: srun reports the
/// highest exit code of all nodes, which may be that of a node that Slurm killed after this failure.
void record_failure(int exit_code, Environment const& environment) {
    auto const run = environment.find_non_empty(variables::run_path);
    if (run) (void)write_new_file(RunLayout(*run).first_failure(), fmt::format("{}\n", exit_code));
}

/// Creates a directory in which `ssh` is a link to det-rsh.
Status make_remote_shell(fs::path const& folder, fs::path const& program) {
    DET_TRY(make_directory(folder));
    auto const link = folder / "ssh";
    if (::symlink(program.c_str(), link.c_str()) == 0 || errno == EEXIST) return Ok{};
    return os_error(fmt::format("make '{}'", link.string()), errno);
}

}  // namespace

Result<LaunchContext> read_launch_context(Environment environment, ProgramPaths const& programs,
                                          bool queries_torch) {
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    if (!run_dir) {
        return Error{codes::not_in_slurm, "DET_RUN_DIR is not set: this is no run of an experiment",
                     "use it as the entrypoint of an experiment with 'slurm: {launch: node}'"};
    }
    LaunchContext context;
    context.run_dir = *run_dir;
    auto const info = context.run_dir / info_files::directory;
    DET_TRY_ASSIGN(auto const text, read_file(info / info_files::rendezvous));
    DET_TRY_ASSIGN(context.rendezvous, parse_rendezvous_info(text));
    DET_TRY(read_trial(info, context));
    if (queries_torch) query_torch(environment, context);
    context.environment = std::move(environment);
    context.wrap_rank = programs.wrap_rank;
    context.det_launch = programs.det_launch;
    return context;
}

Result<int> execute_plan(launchers::LaunchPlan const& plan, LaunchContext const& context,
                         ProgramPaths const& programs, std::function<void(std::string const&)> const& log) {
    DET_TRY_ASSIGN(auto const launch_end, LaunchEnd::begin(context.run_dir));
    if (plan.waits_for_chief) {
        DET_TRY(launch_end.until_ended());
        return 0;
    }
    if (plan.port && !is_port_free(*plan.port)) {
        return Error{codes::transport,
                     fmt::format("port {} of the ranks' rendezvous is in use on this node", *plan.port),
                     "C10D_PORT in environment.environment_variables names another one"};
    }
    for (auto const& file : plan.files) DET_TRY(write_file(file.path, file.text));
    if (plan.remote_shell) DET_TRY(make_remote_shell(*plan.remote_shell, programs.remote_shell));
    launchers::MonitorOptions options;
    options.log = log;
    DET_TRY_ASSIGN(int const exit_code,
                   launchers::monitor_launch(plan, context.run_dir, SystemClock(), options));
    if (exit_code != 0) record_failure(exit_code, context.environment);
    auto const announced = launch_end.announce(plan.waiting_nodes, context.environment, programs.wrap_rank);
    // After a failure, Slurm ends the other nodes.
    if (!announced && exit_code == 0) return announced.error();
    return exit_code;
}

}  // namespace det::launch
