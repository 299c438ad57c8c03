#include <det/foundation/diagnostic.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <grp.h>
#include <iostream>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_record.hpp"
#include "commands.hpp"
#include "control_socket.hpp"
#include "error_codes.hpp"
#include "login_environment.hpp"
#include "namespaces.hpp"

namespace det::loopback {
namespace {

struct User {
    Account account;
    uid_t uid;
    gid_t gid;
};

SiteProfile profile_of(RunningCluster const& cluster) {
    return find_profile(cluster.record.profile).value_or(plain_profile());
}

Result<HostNamespaces> find_host(ClusterPaths const& paths, RunningCluster const& cluster,
                                 Login const& login) {
    if (!login.node) return HostNamespaces::of_process(cluster.init.pid());
    DET_TRY_ASSIGN(auto const descriptors, send_request(paths, "namespaces " + *login.node));
    return HostNamespaces::held_by(cluster.init.pid(), descriptors);
}

/// Moves the calling process to the host. setns(2) changes the PID namespace of future children only.
Status enter_host(ClusterPaths const& paths, RunningCluster const& cluster, Login const& login) {
    DET_TRY_ASSIGN(auto const host, find_host(paths, cluster, login));
    if (::setns(cluster.init.fd(), CLONE_NEWPID) != 0) return os_error("enter the cluster", errno);
    DET_TRY(host.enter());
    if (login.node) return Ok{};
    if (::unshare(CLONE_NEWUTS) != 0) return os_error("make a host name namespace", errno);
    return set_host_name(login_host);
}

/// Must be called on a host of the cluster: reads the cluster's user database.
Result<User> find_user(std::string const& name) {
    errno = 0;
    auto const* entry = ::getpwnam(name.c_str());
    if (entry == nullptr) {
        return Error{codes::usage, fmt::format("no user '{}' in the cluster", name),
                     "the plain users are 'researcher' and 'colleague'"};
    }
    std::string const shell = entry->pw_shell;
    return User{{name, entry->pw_dir, shell.empty() ? "/bin/sh" : shell}, entry->pw_uid, entry->pw_gid};
}

Status switch_to(User const& user) {
    if (::initgroups(user.account.name.c_str(), user.gid) != 0 || ::setgid(user.gid) != 0 ||
        ::setuid(user.uid) != 0) {
        return os_error(fmt::format("change to user {}", user.account.name), errno);
    }
    return Ok{};
}

/// Must be called after the change of user, which clears PR_SET_PDEATHSIG. Only the parent holds the write
/// end of `parent_pipe`, so a hang-up means that the parent ended before the prctl.
void die_with_parent(UniqueFd const& parent_pipe) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd polled{parent_pipe.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) != 0) ::_exit(128 + SIGKILL);
}

/// Changes to `wanted` if this user may enter it, else to the home directory, else to "/".
void change_directory(std::filesystem::path const& wanted, std::string const& home) {
    if (!wanted.empty() && ::chdir(wanted.c_str()) == 0) return;
    if (::chdir(home.c_str()) == 0) return;
    static_cast<void>(::chdir("/") == 0);
}

/// Replaces the process. Returns only if the command can't be started.
Error execute(std::vector<std::string> const& argv, Environment const& environment) {
    CStrings const variables(environment.to_list());
    environ = const_cast<char**>(variables.data());  // execvp uses the PATH of the login to find the program
    ::execvp(argv[0].c_str(), CStrings(argv).data());
    return os_error(fmt::format("start '{}'", argv[0]), errno);
}

[[noreturn]] void run_command(User const& user, std::vector<std::string> const& argv,
                              Environment const& environment, std::filesystem::path const& directory,
                              UniqueFd const& parent_pipe) {
    constexpr int not_found = 127, not_executable = 126;  // the exit codes of POSIX shells
    restore_default_signals();
    auto failed = switch_to(user);
    if (failed) {
        die_with_parent(parent_pipe);
        change_directory(directory, user.account.home);
        failed = execute(argv, environment);
    }
    print(std::cerr, failed.error(), RenderStyle{.program = "cluster"});
    ::_exit(failed.error().code == codes::no_such_file ? not_found : not_executable);
}

/// Forwards signals, except those that the terminal sent: the command receives these from the terminal too.
void forward(SignalReader const& signals, pid_t command) {
    while (auto const info = signals.take()) {
        bool const from_terminal = info->ssi_code == SI_KERNEL;
        if (static_cast<int>(info->ssi_signo) != SIGCHLD && !from_terminal) {
            ::kill(command, static_cast<int>(info->ssi_signo));
        }
    }
}

int wait_for(pid_t command, SignalReader const& signals) {
    for (;;) {
        int status = 0;
        if (::waitpid(command, &status, WNOHANG) == command) return exit_code_of_wait_status(status);
        pollfd polled{signals.fd(), POLLIN, 0};
        ::poll(&polled, 1, -1);  // no timeout: the command may run as long as it likes
        forward(signals, command);
    }
}

}  // namespace

Result<int> run_env(ClusterPaths const& paths, std::string const& user) {
    DET_TRY_ASSIGN(auto const cluster, require_running(paths));
    fmt::print("{}", render_exports(site_variables(paths, profile_of(cluster), user)));
    return 0;
}

Result<int> run_login(ClusterPaths const& paths, Login const& login, Environment const& caller) {
    DET_TRY(require_root_user());
    DET_TRY_ASSIGN(auto const cluster, require_running(paths));
    std::error_code no_directory;
    auto const directory = std::filesystem::current_path(no_directory);
    DET_TRY(enter_host(paths, cluster, login));
    DET_TRY_ASSIGN(auto const user, find_user(login.user));
    auto const argv = login.argv.empty() ? std::vector<std::string>{user.account.shell} : login.argv;
    auto const environment = login_environment(caller, user.account, paths, profile_of(cluster));

    DET_TRY_ASSIGN(auto pipe, make_pipe());
    DET_TRY_ASSIGN(auto const signals,
                   SignalReader::open(signal_set({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT})));
    pid_t const command = ::fork();
    if (command < 0) return os_error("start a process in the cluster", errno);
    if (command == 0) {
        pipe.write_end.reset();
        run_command(user, argv, environment, directory, pipe.read_end);
    }
    return wait_for(command, signals);
}

}  // namespace det::loopback
