// Ends the waits of all ranks of a node when one rank is lost. There are four signs: the rank has left (a
// flag in shared memory), its process has ended (a pidfd, which reports a zombie too), it has no heartbeat,
// or the time limit of the wait has passed. Heartbeats are needed for a process that is stopped and between
// pid namespaces, where a pidfd cannot be opened. UCX 1.13 checks every 20 s by default whether the process
// of a peer in shared memory exists, and never noticed a zombie (measured: 45 s).
//
// - A rank counts as lost if two checks in a row, at least 500 us apart, say so. Between the checks the
//   caller polls for its event, so a rank that ended after it had done its part is not reported.
// - Silence is measured in the running time of the waiting rank: HeartbeatObserver adds at most 100 ms for
//   each observation. After the whole node was stopped, no rank reports the others.
// - One Error for all: the group has one Failure in shared memory. The state of the Failure goes from 0 to 1
//   by compare-exchange, so only one rank writes the text, and to 2 with release order after the text is
//   written. A written Failure never changes. Every wait of every rank reads the state, so a rank that waits
//   for a rank that waits for the lost one returns too, with the same text.
// - End: after the spin phase, a waiting rank checks after at most eight yields or one nap. If the rank that
//   writes the Failure is lost before state 2, the other ranks return their own Error after 10 ms.
//
// `tests/bench/run` measures the delay from kill -9 to the Error on all ranks (row `failure-node`).
#include "loss_detector.hpp"

#include <det/liveness/lost_peer.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace det::collectives::node {

using namespace std::chrono_literals;

LossDetector::LossDetector(ControlMemory& control, int rank, collectives::ErrorScope const& error_scope,
                           Options const& options)
    : control_(control), rank_(rank), error_scope_(error_scope), options_(options), timer_(options.waits) {
    // Ranks that are threads end by leaving.
    if (options.members == Members::threads) return;
    for (int each = 0; each < control.ranks(); ++each)
        processes_.emplace_back(control.member(each).pid, control.member(each).pid_namespace);
}

void LossDetector::begin() {
    began_ = checked_ = Clock::now();
    timer_ = liveness::WaitTimer(options_.waits, checked_);
    observed_.assign(static_cast<std::size_t>(control_.ranks()), {});
}

Status LossDetector::state() const {
    if (!is_over()) return Ok{};
    auto const& failure = control_.failure();
    return make_and_report_error(failure.is_timeout != 0 ? Refusal::timeout : Refusal::lost_rank,
                                 failure.text);
}

Status LossDetector::check_all() const {
    DET_TRY(state());
    for (int rank = 0; rank < control_.ranks(); ++rank) {
        auto const reason = rank == rank_ ? std::nullopt : reason_of_end(rank);
        if (reason) return make_and_report_error(Refusal::lost_rank, describe_loss(rank, *reason));
    }
    return Ok{};
}

Status LossDetector::check(std::vector<int> const& awaited, WaitingCall const& call) {
    constexpr auto interval = 500us;
    DET_TRY(state());
    auto const now = Clock::now();
    if (awaited.empty() || now - checked_ < interval) return Ok{};
    auto result = check_each(awaited, call, now);
    checked_ = now;
    return result;
}

void LossDetector::record(liveness::RecordedWait& wait, int awaited, WaitingCall const& call) const {
    auto const operation = call.named != nullptr
                               ? liveness::WaitOperation::control
                               : collectives::wait_operation_of(error_scope_.reported_call(*call.call).kind);
    wait.waits_for(operation, error_scope_.global_rank({awaited}).value, began_, Clock::now());
}

Status LossDetector::check_each(std::vector<int> const& awaited, WaitingCall const& call,
                                Clock::time_point now) {
    auto const in_time = timer_.check(now, [&] { return describe_wait(awaited.front(), call); });
    if (!in_time) return end_group(in_time.error().message, true);
    for (int const rank : awaited) {
        auto const reason = reason_of_loss(rank, now);
        // The rank may have done its part just before it ended, so it is lost only if two checks in a row say
        // so.
        auto& is_suspect = observed_[static_cast<std::size_t>(rank)].is_suspect;
        if (std::exchange(is_suspect, reason.has_value()) && reason) {
            return end_group(fmt::format("{}; {}", describe_loss(rank, *reason), describe_wait(rank, call)),
                             false);
        }
    }
    return Ok{};
}

std::optional<std::string> LossDetector::reason_of_end(int rank) const {
    if (control_.member(rank).presence.load(std::memory_order_acquire) == Presence::left)
        return "it has left";
    if (!processes_.empty() && processes_[static_cast<std::size_t>(rank)].has_ended())
        return "its process has ended";
    return std::nullopt;
}

std::optional<std::string> LossDetector::reason_of_loss(int awaited, Clock::time_point now) {
    if (auto reason = reason_of_end(awaited)) return reason;
    if (!is_silent(awaited, now)) return std::nullopt;
    return fmt::format("it had no heartbeat for {} ms: it is stopped or gets no CPU time",
                       options_.silence_limit.count());
}

bool LossDetector::is_silent(int awaited, Clock::time_point now) {
    if (options_.members == Members::threads) return false;
    auto const count = control_.member(awaited).heartbeat.load(std::memory_order_relaxed);
    auto& heartbeat = observed_[static_cast<std::size_t>(awaited)].heartbeat;
    return heartbeat.observe(count, now - checked_) >= options_.silence_limit;
}

std::string LossDetector::describe_loss(int rank, std::string_view reason) const {
    auto const& member = control_.member(rank);
    return fmt::format("rank {} on node {} (process {}) is lost: {}", error_scope_.global_rank({rank}).value,
                       member.node, member.pid, reason);
}

std::string LossDetector::describe_wait(int awaited, WaitingCall const& call) const {
    auto const operation = call.named != nullptr
                               ? fmt::format("{}, its operation {}", call.named->name, call.named->number)
                               : describe_numbered_call(error_scope_.reported_call(*call.call));
    return fmt::format("rank {} waits for rank {} on node {} in {}", error_scope_.global_rank({rank_}).value,
                       error_scope_.global_rank({awaited}).value, control_.member(awaited).node, operation);
}

Status LossDetector::end_group(std::string const& text, bool is_timeout) {
    auto& failure = control_.failure();
    std::uint32_t none = 0;
    if (failure.state.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
        failure.is_timeout = is_timeout ? 1 : 0;
        copy_text(text, failure.text);
        failure.state.store(2, std::memory_order_release);
        return state();
    }
    // Another rank is writing its Error. The wait is short, because that rank may be lost meanwhile.
    auto const limit = Clock::now() + 10ms;
    while (failure.state.load(std::memory_order_acquire) != 2 && Clock::now() < limit)
        std::this_thread::yield();
    DET_TRY(state());
    if (!is_timeout) liveness::report_lost_peer(text);
    return Error{codes::transport, text};
}

Cores cores_of(ControlMemory const& control) {
    cpu_set_t together;
    CPU_ZERO(&together);
    for (int rank = 0; rank < control.ranks(); ++rank)
        CPU_OR(&together, &together, &control.member(rank).cores);
    return CPU_COUNT(&together) >= control.ranks() ? Cores::own : Cores::shared;
}

bool Wait::pause_longer() {
    constexpr int yields_per_check = 8;
    if (backoff_.yields() == 0) losses_.begin();
    auto const nap = backoff_.yield_or_sleep_time();
    if (!nap) return backoff_.yields() % yields_per_check == 0;
    slot_.control.futex_waiters().sleep(*nap);
    return true;
}

}  // namespace det::collectives::node
