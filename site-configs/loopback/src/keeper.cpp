#include "keeper.hpp"

#include <det/foundation/process.hpp>

#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include "codes.hpp"
#include "control.hpp"
#include "daemons.hpp"
#include "freezer.hpp"
#include "keeper_log.hpp"
#include "keeper_record.hpp"
#include "keeper_requests.hpp"
#include "signal_watch.hpp"
#include "startup_pipe.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::milliseconds tick_interval{20};

class Keeper {
public:
    Keeper(KeeperOptions const& options, Hosts const& hosts, Network& network, StartupReport& report)
        : options_(options),
          report_(report),
          supervisor_(daemon_environment(options.paths)),
          requests_(hosts, network, supervisor_) {
        for (auto& daemon : plan_daemons(options, hosts)) supervisor_.add(std::move(daemon));
    }

    /// Until TERM, or until the start has failed.
    Status run() {
        SignalWatch const signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
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
        if (auto const* lost = supervisor_.find_given_up()) {
            return Error{codes::process, fmt::format("{} does not stay up", lost->spec.name)};
        }
        // Whoever wanted this cluster may have died meanwhile.
        if (supervisor_.all_ready() && !report_.started()) ending_ = true;
        return Ok{};
    }

    void wait(SignalWatch const& signals, ControlServer const& control) {
        std::array<pollfd, 2> polled{pollfd{signals.fd(), POLLIN, 0}, pollfd{control.fd(), POLLIN, 0}};
        int const timeout = supervisor_.needs_ticks() ? static_cast<int>(tick_interval.count()) : -1;
        if (::poll(polled.data(), polled.size(), timeout) <= 0) return;
        if (polled[1].revents != 0) control.serve([&](auto request) { return requests_.answer(request); });
    }

    void handle(SignalWatch const& signals) {
        while (auto const info = signals.take()) {
            if (info->ssi_signo == SIGCHLD) continue;
            log_line(fmt::format("ending: signal {}", info->ssi_signo));
            ending_ = true;
        }
        supervisor_.reap();
    }

    KeeperOptions const& options_;
    StartupReport& report_;
    Supervisor supervisor_;
    KeeperRequests requests_;
    bool ending_ = false;
};

/// The record comes first, so that nothing is ever running that 'cluster down' can't find.
Status introduce_oneself(KeeperOptions const& options) {
    auto const identity = identify_self();
    if (!identity) return Error{codes::internal, "the keeper can't find itself in /proc"};
    return write_keeper_record(options.paths, {*identity, options.nodes, options.slots, options.proctrack});
}

Status enter_cgroup(KeeperOptions const& options) {
    if (options.proctrack != Proctrack::cgroup) return Ok{};
    DET_TRY_ASSIGN(auto const group, FreezerGroup::make(options.paths.cgroup_name()));
    DET_TRY(group.enter());
    // From here on our group is what this process and all its children know as the top.
    if (::unshare(CLONE_NEWCGROUP) != 0) return os_error("make a cgroup namespace", errno);
    return Ok{};
}

Status set_up_and_run(KeeperOptions const& options, StartupReport& report) {
    DET_TRY(introduce_oneself(options));
    DET_TRY(enter_cgroup(options));
    SystemProcessRunner runner;
    Network network(runner);
    DET_TRY_ASSIGN(auto const hosts, Hosts::make(options, network));
    report.say(fmt::format("{} nodes made, starting Slurm", options.nodes));
    return Keeper(options, hosts, network, report).run();
}

}  // namespace

Status keep_cluster(KeeperOptions const& options, UniqueFd startup) {
    ::signal(SIGPIPE, SIG_IGN);
    StartupReport report(std::move(startup));
    auto result = set_up_and_run(options, report);
    if (!result) report.failed(result.error());
    return result;
}

}  // namespace det::loopback
