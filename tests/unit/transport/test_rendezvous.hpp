#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/transport/rank_monitor.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "../../conformance/expectation.hpp"
#include "../../conformance/transport_suite.hpp"
#include "check_result.hpp"
#include "rank_processes.hpp"
#include "temporary_directory.hpp"

// Used by tests of transports whose ranks are processes that use a bootstrap.
namespace det::transport {

struct TestRendezvous : TemporaryDirectory {
    TestRendezvous() { must(write_file(path() / "rendezvous", render_rendezvous_file({"a secret"}))); }

    Result<std::unique_ptr<Bootstrap>> bootstrap(Rank rank, int size) const {
        return open_tcp_bootstrap(rank, size, path() / "rendezvous", {.waits = {std::chrono::seconds(30)}});
    }
};

/// A monitor that loses no rank, and records whether it was abandoned.
class RecordingMonitor final : public RankMonitor {
public:
    explicit RecordingMonitor(bool& is_abandoned) : is_abandoned_(is_abandoned) {}
    Status check() const override { return Ok{}; }
    Status wait_for_loss(std::chrono::milliseconds) const override { return Ok{}; }
    std::string name_of(Rank) const override { return "a rank"; }
    void abandon() noexcept override { is_abandoned_ = true; }

private:
    bool& is_abandoned_;
};

/// Checks that a transport abandons its monitor when it is abandoned, and only then.
/// \param open opens a transport of one rank with this monitor
inline void check_that_abandon_announces_no_departure(
    std::function<Result<std::unique_ptr<Transport>>(std::unique_ptr<RankMonitor>)> const& open) {
    for (bool const is_wanted : {false, true}) {
        check_ranks(run_rank_processes(1, [&](Rank) -> Status {
            bool is_abandoned = false;
            DET_TRY_ASSIGN(auto transport, open(std::make_unique<RecordingMonitor>(is_abandoned)));
            if (is_wanted) transport->abandon();
            transport.reset();
            return expect(is_abandoned == is_wanted, "the monitor to be abandoned with the transport");
        }));
    }
}

using OpenTransport = std::function<Result<std::unique_ptr<Transport>>(Rank rank, int size)>;

inline Status run_suite(Transport& transport) {
    for (auto const& test : transport_cases()) {
        if (auto result = test.run(transport); !result)
            return std::move(result).error().while_doing(std::string(test.name));
    }
    return Ok{};
}

/// Kills the second of three ranks while the others wait for it. Checks their errors.
inline void check_that_a_killed_rank_is_an_error(OpenTransport const& open) {
    auto const outcomes = run_rank_processes(3, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, open(rank, 3));
        std::byte byte{};
        if (rank.value == 1) {
            // It only receives, because data that it has not sent yet would be lost.
            for (int const other : {0, 2}) DET_TRY(transport->receive({other}, Tag{1}, std::span(&byte, 1)));
            ::raise(SIGKILL);
        }
        DET_TRY(transport->send({1}, Tag{1}, std::span(&byte, 1)));
        std::vector<std::byte> into(std::size_t{1} << 20);
        auto const received = transport->receive({1}, Tag{2}, into);
        DET_TRY(expect(!received, "no message of the dead"));
        DET_TRY(expect(received.error().message.starts_with("rank 1 has left or was lost"),
                       received.error().message));
        return expect(!transport->send({1}, Tag{2}, into), "none to them");
    });
    BOOST_TEST((outcomes[1].signal == SIGKILL));
    BOOST_TEST((outcomes[0].error_text + outcomes[2].error_text) == "");
}

}  // namespace det::transport
