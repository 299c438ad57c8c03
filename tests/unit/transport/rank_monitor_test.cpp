// Detection of lost ranks. The ranks are processes, so that they can be killed and stopped.
#include <det/foundation/files.hpp>
#include <det/transport/peer_wait.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

#include "../../conformance/expectation.hpp"
#include "check_result.hpp"
#include "file_bootstrap.hpp"
#include "monitor_server.hpp"
#include "rank_processes.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::transport;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace rank_monitor_test {

constexpr int ranks = 4;

struct Meet : TemporaryDirectory {
    Result<std::unique_ptr<RankMonitor>> open(Rank rank, RankMonitorOptions options = {}) const {
        options.node = fmt::format("n{}", rank.value / 2);
        DET_TRY_ASSIGN(auto bootstrap, open_file_bootstrap(rank, ranks, path(), {20s}));
        return open_rank_monitor(*bootstrap, options);
    }
};

/// Waits for the monitor's error. Returns its message.
Result<std::string> wait_for_loss(RankMonitor const& monitor, std::chrono::milliseconds limit) {
    auto const until = steady_clock::now() + limit;
    while (steady_clock::now() < until) {
        if (auto const status = monitor.check(); !status) return status.error().message;
        std::this_thread::sleep_for(1ms);
    }
    return Error{codes::timed_out, "nobody was lost"};
}

void wait_for_files(std::filesystem::path const& directory, std::string_view prefix, int count,
                    std::chrono::milliseconds limit) {
    auto const until = steady_clock::now() + limit;
    while (steady_clock::now() < until) {
        auto const names = list_directory(directory);
        if (names &&
            std::ranges::count_if(*names, [&](auto& name) { return name.starts_with(prefix); }) >= count)
            return;
        std::this_thread::sleep_for(1ms);
    }
}

}  // namespace rank_monitor_test

BOOST_FIXTURE_TEST_SUITE(rank_monitor_test, Meet)

BOOST_AUTO_TEST_CASE(a_killed_rank_is_reported_lost_on_all_others_at_once) {
    for (int const victim : {0, 3}) {
        Meet const meet;
        auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
            DET_TRY_ASSIGN(auto const monitor, meet.open(rank));
            if (rank.value == victim) ::raise(SIGKILL);
            DET_TRY_ASSIGN(auto const loss, wait_for_loss(*monitor, 8s));  // below the silence limit
            return expect(loss.starts_with(fmt::format("rank {} on n{} was lost", victim, victim / 2)), loss);
        });
        BOOST_TEST((outcomes[static_cast<std::size_t>(victim)].signal == SIGKILL));
        for (auto const& outcome : outcomes) BOOST_TEST(outcome.error_text == "");
    }
}

BOOST_AUTO_TEST_CASE(a_stopped_rank_is_lost_after_the_silence_limit) {
    for (int const victim : {0, 2}) {
        Meet const meet;
        auto const pid_file = meet.path() / "victim";
        auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
            RankMonitorOptions const hasty{.silence_limit = 1s, .beat = 100ms};
            if (rank.value == victim) DET_TRY(write_file(pid_file, std::to_string(::getpid())));
            DET_TRY_ASSIGN(auto const monitor, meet.open(rank, hasty));
            if (rank.value == victim) ::raise(SIGSTOP);
            auto const loss = wait_for_loss(*monitor, 20s);
            // If the victim is killed before, ranks may report its broken connection in place of its silence.
            DET_TRY(write_file(meet.path() / fmt::format("seen-{}", rank.value), ""));
            wait_for_files(meet.path(), "seen-", ranks - 1, 20s);
            DET_TRY_ASSIGN(auto const pid, read_file(pid_file));
            ::kill(std::stoi(pid), SIGKILL);  // ends the stopped process
            DET_TRY(loss);
            return expect(
                *loss == fmt::format("rank {} on n{} was lost: it was silent for 1 s", victim, victim / 2),
                *loss);
        });
        BOOST_TEST((outcomes[static_cast<std::size_t>(victim)].signal == SIGKILL));
        for (auto const& outcome : outcomes) BOOST_TEST(outcome.error_text == "");
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_abandons_the_run_is_lost_on_all_others) {
    check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto monitor, open(rank));
        if (rank.value == 2) {
            monitor->abandon();
            monitor.reset();
        } else {
            DET_TRY_ASSIGN(auto const loss, wait_for_loss(*monitor, 8s));
            DET_TRY(expect(loss.starts_with("rank 2 on n1 was lost"), loss));
        }
        DET_TRY(write_file(path() / fmt::format("seen-{}", rank.value), ""));
        wait_for_files(path(), "seen-", ranks, 20s);
        return Ok{};
    }));
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_and_a_busy_rank_are_not_lost) {
    check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
        RankMonitorOptions const hasty{.silence_limit = 1s, .beat = 100ms};
        DET_TRY_ASSIGN(auto monitor, open(rank, hasty));
        if (rank.value == 1) monitor.reset();
        auto const until = steady_clock::now() + 1500ms;
        while (steady_clock::now() < until && monitor != nullptr) {  // computes
        }
        if (monitor == nullptr) return Ok{};
        auto const status = monitor->check();
        // The chief may end first.
        return expect(status.has_value() || status.error().message.starts_with("rank 0"), "all live");
    }));
}

BOOST_AUTO_TEST_CASE(a_chief_that_was_stopped_reports_no_rank_as_lost) {
    MonitorServer server(10s, 1s);
    std::vector<std::string> said;
    FrameHandler::Post const post = [&](Rank, std::string frame) { said.push_back(std::move(frame)); };
    auto now = steady_clock::now();
    server.on_tick(now, post);
    server.on_joined({1}, post);
    server.on_tick(now + 60s, post);
    server.on_tick(now + 69s, post);
    for (auto const& frame : said) BOOST_TEST(!parse_lost(frame).has_value());
}

BOOST_AUTO_TEST_CASE(a_silent_rank_is_reported_also_to_ranks_that_join_later) {
    MonitorServer server(10s, 1s);
    std::vector<std::pair<Rank, std::string>> said;
    FrameHandler::Post const post = [&](Rank to, std::string frame) {
        said.emplace_back(to, std::move(frame));
    };
    auto const begin = steady_clock::now();
    server.on_tick(begin, post);
    server.on_joined({1}, post);
    server.on_joined({2}, post);
    for (int i = 1; i <= 11; ++i) {
        BOOST_TEST(server.on_frame({2}, "B", post));
        server.on_tick(begin + std::chrono::seconds(i), post);
    }
    server.on_joined({3}, post);
    std::vector<int> told;
    for (auto const& [to, frame] : said) {
        if (auto const lost = parse_lost(frame)) {
            BOOST_TEST(lost->rank.value == 1);
            told.push_back(to.value);
        }
    }
    BOOST_TEST((told == std::vector<int>{2, 3}));
}

BOOST_AUTO_TEST_CASE(a_long_wait_warns_once_and_fails_only_with_a_timeout) {
    std::vector<std::string> warnings;
    WaitPolicy policy{.on_long_wait = [&](std::string const& warning) { warnings.push_back(warning); },
                      .long_wait = 0ms};
    PeerWait endless(policy, nullptr, {1}, {0});
    for (int i = 0; i < 10'000; ++i) BOOST_TEST(endless.check().has_value());
    BOOST_REQUIRE(warnings.size() == 1u);
    BOOST_TEST(warnings[0] == "rank 1 has waited for rank 0 for 0 ms, which is alive");

    policy.timeout = 1ms;
    PeerWait limited(policy, nullptr, {1}, {0});
    auto status = limited.check();
    while (status) status = limited.check();
    BOOST_TEST((status.error().code == codes::timed_out));
}

BOOST_AUTO_TEST_CASE(a_wait_is_recorded_after_64_polls_and_at_each_poll_once_polls_are_slow) {
    TemporaryDirectory const directory;
    auto const path = directory / "waits";
    WaitPolicy const policy{.recorder = std::make_shared<liveness::WaitRecorder>(
                                must(liveness::WaitPage::open_for_writing(path, 0)), 0, 1)};
    policy.recorder->begin_operation(liveness::WaitOperation::allreduce);
    auto const page = must(liveness::WaitPage::open_for_reading(path));
    auto const waited = [&](int rank) {
        std::chrono::nanoseconds sum{0};
        auto const waits = page.read().at(0);
        for (auto const& each : waits.waited_for)
            sum += std::chrono::nanoseconds(each.rank == rank ? each.ns : 0);
        return sum;
    };
    auto const poll = [](PeerWait& wait, int times) {
        for (int i = 0; i < times; ++i) must(wait.check());
    };
    {
        PeerWait wait(policy, nullptr, {1}, {3});
        poll(wait, 64);
    }
    BOOST_TEST(page.read().at(0).waited_for.empty());
    {
        PeerWait wait(policy, nullptr, {1}, {3});
        poll(wait, 64);
        std::this_thread::sleep_for(5ms);
        poll(wait, 1);
        BOOST_TEST((waited(3) >= 5ms));
        std::this_thread::sleep_for(5ms);
        poll(wait, 1);
        BOOST_TEST((waited(3) >= 10ms));
    }
    auto const waits = page.read().at(0);
    BOOST_TEST(waits.waits_ended == 1u);
    BOOST_TEST(waits.waited_ns[static_cast<std::size_t>(liveness::WaitOperation::allreduce)] ==
               static_cast<std::uint64_t>(waited(3).count()));
}

BOOST_AUTO_TEST_SUITE_END()
