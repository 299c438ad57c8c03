#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/node/node_group.hpp>

#include <csignal>
#include <fmt/format.h>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_result.hpp"

namespace det::collectives::node {

/// The result of a rank, in memory that it shares with the test.
struct RankReport {
    bool is_error;
    double seconds;  // when the rank reported, by the steady clock
    char message[1000];
};

/// Ranks as processes of their own, forked from the test. The destructor kills those that still run.
class RankProcesses {
public:
    using Body = std::function<Status(int rank)>;

    explicit RankProcesses(int ranks) : ranks_(ranks) {
        auto const size = sizeof(RankReport) * static_cast<std::size_t>(ranks);
        reports_ = static_cast<RankReport*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        BOOST_REQUIRE(reports_ != MAP_FAILED);
    }
    ~RankProcesses() {
        for (auto const pid : pids_) {
            if (pid <= 0) continue;
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        ::munmap(reports_, sizeof(RankReport) * static_cast<std::size_t>(ranks_));
    }
    RankProcesses(RankProcesses const&) = delete;
    RankProcesses& operator=(RankProcesses const&) = delete;

    void start(Body const& body) {
        for (int rank = 0; rank < ranks_; ++rank) {
            auto const pid = ::fork();
            BOOST_REQUIRE(pid >= 0);
            if (pid == 0) {
                tell(reports_[rank], body(rank));
                ::_exit(0);
            }
            pids_.push_back(pid);
        }
    }
    void signal(int rank, int number) const { ::kill(pids_[static_cast<std::size_t>(rank)], number); }
    /// Blocks until the process of the rank has ended, which must have the exit status 0.
    RankReport const& wait(int rank) {
        auto& pid = pids_[static_cast<std::size_t>(rank)];
        int status = 0;
        BOOST_REQUIRE(::waitpid(pid, &status, 0) == pid);
        pid = -1;
        BOOST_TEST_CONTEXT("rank " << rank) BOOST_TEST(status == 0);
        return reports_[rank];
    }
    /// Waits for all ranks, which must have succeeded.
    void check() {
        for (int rank = 0; rank < ranks_; ++rank) {
            auto const& report = wait(rank);
            BOOST_TEST(!report.is_error, "rank " << rank << ": " << report.message);
        }
    }

private:
    static void tell(RankReport& report, Status const& result) {
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        report.is_error = !result;
        auto const text = result ? std::string() : result.error().message;
        text.copy(report.message, sizeof report.message - 1);
    }

    int ranks_;
    RankReport* reports_;
    std::vector<pid_t> pids_;
};

}  // namespace det::collectives::node
