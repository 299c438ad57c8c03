#include "login.hpp"

#include <det/foundation/diagnostic.hpp>
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

#include "codes.hpp"
#include "control.hpp"
#include "login_environment.hpp"
#include "namespaces.hpp"
#include "signal_watch.hpp"

namespace det::loopback {
namespace {

struct User {
    Account account;
    uid_t uid;
    gid_t gid;
};

Result<HostNamespaces> find_host(ClusterPaths const& paths, RunningCluster const& cluster,
                                 Login const& login) {
    if (!login.node) return HostNamespaces::of_process(cluster.keeper.pid());
    DET_TRY_ASSIGN(auto const descriptors, ask_keeper(paths, "namespaces " + *login.node));
    return HostNamespaces::held_by(cluster.keeper.pid(), descriptors);
}

/// The PID namespace is that of our children only, hence the fork that follows.
Status go_there(ClusterPaths const& paths, RunningCluster const& cluster, Login const& login) {
    DET_TRY_ASSIGN(auto const host, find_host(paths, cluster, login));
    if (::setns(cluster.keeper.fd(), CLONE_NEWPID) != 0) return os_error("enter the cluster", errno);
    DET_TRY(host.enter());
    if (login.node) return Ok{};
    if (::unshare(CLONE_NEWUTS) != 0) return os_error("make a host name namespace", errno);
    return set_host_name(login_host);
}

/// Looked up in the cluster's user database: we are there already.
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

Status become(User const& user) {
    if (::initgroups(user.account.name.c_str(), user.gid) != 0 || ::setgid(user.gid) != 0 ||
        ::setuid(user.uid) != 0) {
        return os_error(fmt::format("become {}", user.account.name), errno);
    }
    return Ok{};
}

/// Set after the change of user, which would undo it. `lifeline` is a pipe that only our parent holds.
void die_with_parent(UniqueFd const& lifeline) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd polled{lifeline.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) != 0) ::_exit(128 + SIGKILL);
}

/// Where the caller is, if this user may be there too.
void change_directory(std::filesystem::path const& wanted, std::string const& home) {
    if (!wanted.empty() && ::chdir(wanted.c_str()) == 0) return;
    if (::chdir(home.c_str()) == 0) return;
    static_cast<void>(::chdir("/") == 0);
}

/// Only returns where the command can't be started.
Error execute(std::vector<std::string> argv, Environment const& environment) {
    std::vector<char*> arguments, variables;
    for (auto& argument : argv) arguments.push_back(argument.data());
    auto lines = environment.to_list();
    for (auto& line : lines) variables.push_back(line.data());
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    environ = variables.data();  // execvp looks for the program in the PATH of the login
    ::execvp(arguments[0], arguments.data());
    return os_error(fmt::format("start '{}'", argv[0]), errno);
}

[[noreturn]] void run_command(User const& user, std::vector<std::string> const& argv,
                              Environment const& environment, std::filesystem::path const& directory,
                              UniqueFd const& lifeline) {
    constexpr int not_found = 127, not_executable = 126;  // as shells say
    restore_default_signals();
    auto failed = become(user);
    if (failed) {
        die_with_parent(lifeline);
        change_directory(directory, user.account.home);
        failed = execute(argv, environment);
    }
    print(std::cerr, failed.error(), RenderStyle{.program = "cluster"});
    ::_exit(failed.error().code == codes::no_such_file ? not_found : not_executable);
}

/// Signals that a person sent to us; what the terminal sends, the command gets from the terminal.
void pass_on(SignalWatch const& signals, pid_t command) {
    while (auto const info = signals.take()) {
        bool const from_terminal = info->ssi_code == SI_KERNEL;
        if (static_cast<int>(info->ssi_signo) != SIGCHLD && !from_terminal) {
            ::kill(command, static_cast<int>(info->ssi_signo));
        }
    }
}

int wait_for(pid_t command, SignalWatch const& signals) {
    for (;;) {
        int status = 0;
        if (::waitpid(command, &status, WNOHANG) == command) return exit_code_of_wait_status(status);
        pollfd polled{signals.fd(), POLLIN, 0};
        ::poll(&polled, 1, -1);  // as long as the command takes: whoever calls us sets the limit
        pass_on(signals, command);
    }
}

}  // namespace

Result<int> log_in(ClusterPaths const& paths, RunningCluster const& cluster, Login const& login,
                   Environment const& caller) {
    std::error_code no_directory;
    auto const directory = std::filesystem::current_path(no_directory);
    DET_TRY(go_there(paths, cluster, login));
    DET_TRY_ASSIGN(auto const user, find_user(login.user));
    auto const argv = login.argv.empty() ? std::vector<std::string>{user.account.shell} : login.argv;
    auto const environment = login_environment(caller, user.account, paths);

    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    UniqueFd const lifeline(ends[0]);
    UniqueFd our_end(ends[1]);
    SignalWatch const signals{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    pid_t const command = ::fork();
    if (command < 0) return os_error("start a process in the cluster", errno);
    if (command == 0) {
        our_end.reset();
        run_command(user, argv, environment, directory, lifeline);
    }
    return wait_for(command, signals);
}

}  // namespace det::loopback
