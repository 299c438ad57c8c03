#include <det/foundation/count_text.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/text.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include "cluster_cgroup.hpp"
#include "cluster_record.hpp"
#include "commands.hpp"
#include "control_socket.hpp"
#include "error_codes.hpp"
#include "init_start.hpp"
#include "plan_daemons.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::milliseconds tick_interval{20};

/// Carries out the requests that control_socket.hpp lists.
class RequestHandler {
public:
    RequestHandler(ClusterHosts const& hosts, DaemonSupervisor& supervisor)
        : hosts_(hosts), supervisor_(supervisor) {}

    Result<std::string> handle(std::string_view request) {
        if (request == "status") return describe_daemons();
        constexpr std::string_view namespaces_of = "namespaces ";
        if (request.starts_with(namespaces_of)) {
            DET_TRY_ASSIGN(int const node, parse_node(request.substr(namespaces_of.size())));
            return hosts_.nodes()[static_cast<std::size_t>(node)].descriptors();
        }
        log_line(fmt::format("request '{}'", escape_control(request)));
        struct Action {
            std::string_view name;
            Status (RequestHandler::*run)(std::string_view target);
        };
        constexpr Action actions[] = {
            {"kill", &RequestHandler::kill_daemon},    {"start", &RequestHandler::start_daemon},
            {"cut", &RequestHandler::cut_node},        {"heal", &RequestHandler::heal_node},
            {"off", &RequestHandler::switch_node_off}, {"on", &RequestHandler::switch_node_on},
        };
        auto const words = split(request, ' ');
        for (auto const& action : actions) {
            if (words.size() != 2 || words[0] != action.name) continue;
            DET_TRY((this->*action.run)(words[1]));
            return std::string();
        }
        return Error{codes::misuse, fmt::format("unknown request '{}'", escape_control(request))};
    }

private:
    std::string describe_daemons() const {
        std::string text;
        for (auto const& daemon : supervisor_.daemons()) {
            text += fmt::format("{} {} {} {}\n", daemon.spec.name, daemon.pid, to_string(daemon.state),
                                daemon.restarts);
        }
        return text;
    }

    Result<int> parse_node(std::string_view name) const {
        auto const count = static_cast<int>(hosts_.nodes().size());
        for (int i = 0; i < count; ++i) {
            if (name == node_name(i)) return i;
        }
        return Error{codes::misuse,
                     fmt::format("no node '{}': the nodes are n0 to {}", name, node_name(count - 1))};
    }

    static Status require_daemon(bool found, std::string_view name) {
        if (found) return Ok{};
        return Error{codes::misuse,
                     fmt::format("no daemon '{}': the daemons are munged, slurmctld, slurmd.n0 ...", name)};
    }

    Status kill_daemon(std::string_view name) {
        return require_daemon(supervisor_.kill(std::string(name)), name);
    }

    Status start_daemon(std::string_view name) {
        return require_daemon(supervisor_.start(std::string(name)), name);
    }

    Status cut_node(std::string_view name) {
        DET_TRY_ASSIGN(int const node, parse_node(name));
        return ClusterHosts::disconnect(node);
    }

    Status heal_node(std::string_view name) {
        DET_TRY_ASSIGN(int const node, parse_node(name));
        return ClusterHosts::reconnect(node);
    }

    Status switch_node_off(std::string_view name) {
        DET_TRY_ASSIGN(int const node, parse_node(name));
        // The network first: the killed processes must not be able to close their connections, as after a
        // power loss.
        DET_TRY(ClusterHosts::disconnect(node));
        supervisor_.kill(node_daemon(node));
        hosts_.kill_processes_on(node);
        return Ok{};
    }

    Status switch_node_on(std::string_view name) {
        DET_TRY_ASSIGN(int const node, parse_node(name));
        DET_TRY(ClusterHosts::reconnect(node));
        supervisor_.start(node_daemon(node));
        return Ok{};
    }

    ClusterHosts const& hosts_;
    DaemonSupervisor& supervisor_;
};

class InitProcess {
public:
    InitProcess(InitOptions const& options, ClusterHosts const& hosts, StartupReport& report)
        : options_(options),
          report_(report),
          supervisor_(daemon_environment(options.paths)),
          requests_(hosts, supervisor_) {
        for (auto& daemon : plan_daemons(options, hosts)) supervisor_.add(std::move(daemon));
    }

    /// Returns after SIGTERM, SIGINT or SIGHUP, when 'cluster up' has ended before the daemons are ready, or
    /// with an error if one of them is given up before.
    Status run() {
        DET_TRY_ASSIGN(auto const signals,
                       SignalReader::open(signal_set({SIGCHLD, SIGTERM, SIGINT, SIGHUP})));
        DET_TRY_ASSIGN(auto const control, ControlServer::listen(options_.paths));
        while (!ending_) {
            supervisor_.tick(std::chrono::steady_clock::now());
            DET_TRY(report_progress());
            wait(signals, control);
            handle(signals);
        }
        supervisor_.shut_down();
        return Ok{};
    }

private:
    Status report_progress() {
        if (!report_.is_open()) return Ok{};
        if (auto const* failed = supervisor_.find_given_up()) {
            return Error{codes::process, fmt::format("{} does not stay up", failed->spec.name)};
        }
        // started() returns false if 'cluster up' has died; then the cluster ends too.
        if (supervisor_.all_were_ready() && !report_.started()) ending_ = true;
        return Ok{};
    }

    void wait(SignalReader const& signals, ControlServer const& control) {
        std::array<pollfd, 2> polled{pollfd{signals.fd(), POLLIN, 0}, pollfd{control.fd(), POLLIN, 0}};
        int const timeout = supervisor_.needs_ticks() ? static_cast<int>(tick_interval.count()) : -1;
        if (::poll(polled.data(), polled.size(), timeout) <= 0) return;
        if (polled[1].revents != 0) control.serve([&](auto request) { return requests_.handle(request); });
    }

    void handle(SignalReader const& signals) {
        while (auto const info = signals.take()) {
            if (info->ssi_signo == SIGCHLD) continue;
            log_line(fmt::format("ending: signal {}", info->ssi_signo));
            ending_ = true;
        }
        supervisor_.reap();
    }

    InitOptions const& options_;
    StartupReport& report_;
    DaemonSupervisor supervisor_;
    RequestHandler requests_;
    bool ending_ = false;
};

Status write_own_record(InitOptions const& options) {
    auto const identity = identify_self();
    if (!identity) return Error{codes::internal, "the init process does not find itself in /proc"};
    return write_cluster_record(options.paths, {*identity, options.nodes, options.slots, options.proctrack,
                                                describe(options.slurm), std::string(options.profile.name)});
}

Status enter_cgroup(InitOptions const& options) {
    if (options.proctrack != Proctrack::cgroup) return Ok{};
    DET_TRY_ASSIGN(auto const group, ClusterGroup::make(options.paths.cgroup_name()));
    return group.enter_as_root();
}

Status set_up_and_run(InitOptions const& options, StartupReport& report) {
    // The record is written first, so that 'cluster down' always finds a cluster that has begun to start.
    DET_TRY(write_own_record(options));
    DET_TRY(enter_cgroup(options));
    DET_TRY_ASSIGN(auto const hosts, ClusterHosts::make(options));
    report.say(count_text(options.nodes, "node") + " made, starting Slurm");
    return InitProcess(options, hosts, report).run();
}

}  // namespace

Status run_init_process(InitOptions const& options, UniqueFd startup) {
    ::signal(SIGPIPE, SIG_IGN);
    StartupReport report(std::move(startup));
    auto result = set_up_and_run(options, report);
    if (!result) report.failed(result.error());
    return result;
}

}  // namespace det::loopback
