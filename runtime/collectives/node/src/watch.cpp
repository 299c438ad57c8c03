#include "watch.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

namespace det::collectives::node {
namespace {

using namespace std::chrono_literals;

constexpr auto look_interval = 500us;

std::string who(Member const& member, Rank rank) {
    return fmt::format("rank {} on node {} (process {})", rank.value, member.node, member.pid);
}

void put(std::string_view text, std::span<char> into) {
    auto const size = std::min(text.size(), into.size() - 1);
    std::copy_n(text.data(), size, into.data());
    into[size] = '\0';
}

}  // namespace

void introduce(Member& member, Options const& options) {
    char host[sizeof member.node] = "this node";
    static_cast<void>(::gethostname(host, sizeof host - 1));
    member.pid = ::getpid();
    member.pid_namespace = liveness::own_pid_namespace();
    if (::sched_getaffinity(0, sizeof member.cores, &member.cores) != 0) CPU_ZERO(&member.cores);
    put(options.node_name.empty() ? host : options.node_name, member.node);
}

void Watch::begin() {
    begun_ = looked_ = Clock::now();
    has_warned_ = false;
    known_.assign(static_cast<std::size_t>(segment_.ranks()), {});
}

Status Watch::state() const {
    if (!is_over()) return Ok{};
    auto const& failure = segment_.failure();
    return Error{failure.is_timeout != 0 ? codes::timed_out : codes::transport, failure.text, loss_hint};
}

Status Watch::check() const {
    DET_TRY(state());
    for (int rank = 0; rank < segment_.ranks(); ++rank) {
        auto const reason = rank == rank_ ? std::nullopt : reason_of_end(rank);
        if (!reason) continue;
        auto const name = error_scope_.global_rank({rank});
        return Error{codes::transport,
                     fmt::format("{} is lost: {}", who(segment_.member(rank), name), *reason), loss_hint};
    }
    return Ok{};
}

Status Watch::look(std::vector<int> const& awaited, WaitingCall const& call) {
    DET_TRY(state());
    auto const now = Clock::now();
    if (awaited.empty() || now - looked_ < look_interval) return Ok{};
    auto result = look_closer(awaited, call, now);
    looked_ = now;
    return result;
}

Status Watch::look_closer(std::vector<int> const& awaited, WaitingCall const& call, Clock::time_point now) {
    warn_once(awaited.front(), call, now);
    if (options_.collective_timeout && now - begun_ >= *options_.collective_timeout) {
        return end_group(fmt::format("{} took longer than {} ms", describe_wait(awaited.front(), call),
                                     options_.collective_timeout->count()),
                         true);
    }
    for (int const rank : awaited) {
        auto const reason = reason_of_loss(rank, now);
        // The rank may have done its part just before it ended, so it is lost only if two checks in a row say
        // so.
        auto& is_suspect = known_[static_cast<std::size_t>(rank)].is_suspect;
        if (std::exchange(is_suspect, reason.has_value()) && reason) {
            return end_group(fmt::format("{} is lost: {}; {}",
                                         who(segment_.member(rank), error_scope_.global_rank({rank})),
                                         *reason, describe_wait(rank, call)),
                             false);
        }
    }
    return Ok{};
}

std::optional<std::string> Watch::reason_of_end(int rank) const {
    if (segment_.member(rank).presence.load(std::memory_order_acquire) == Presence::left)
        return "it has left";
    if (!processes_.empty() && processes_[static_cast<std::size_t>(rank)].has_ended())
        return "its process has ended";
    return std::nullopt;
}

std::optional<std::string> Watch::reason_of_loss(int awaited, Clock::time_point now) {
    if (auto reason = reason_of_end(awaited)) return reason;
    if (!is_silent(awaited, now)) return std::nullopt;
    return fmt::format("nothing was heard of it for {} ms, it is stopped or gets no time to run",
                       options_.silence_limit.count());
}

bool Watch::is_silent(int awaited, Clock::time_point now) {
    if (options_.members == Members::threads) return false;
    auto const beat = segment_.member(awaited).heartbeat.load(std::memory_order_relaxed);
    auto& known = known_[static_cast<std::size_t>(awaited)];
    if (std::exchange(known.beat, beat) != beat) {
        known.silence = {};
        return false;
    }
    // If this process itself was stopped, the time between two checks says nothing about other ranks.
    constexpr Clock::duration awake_limit = 100ms;
    known.silence += std::min(now - looked_, awake_limit);
    return known.silence >= options_.silence_limit;
}

void Watch::warn_once(int awaited, WaitingCall const& call, Clock::time_point now) {
    if (has_warned_ || now - begun_ < options_.warn_after) return;
    has_warned_ = true;
    if (!options_.on_warning) return;
    options_.on_warning(fmt::format("{} for {} s", describe_wait(awaited, call),
                                    std::chrono::duration_cast<std::chrono::seconds>(now - begun_).count()));
}

std::string Watch::describe_wait(int awaited, WaitingCall const& call) const {
    auto const enclosing = error_scope_.enclosing_call.value_or(call.call ? *call.call : collectives::Call{});
    auto const name = call.named ? std::string(call.named->name) : describe(*call.call);
    auto const number = call.named ? call.named->number : enclosing.sequence + 1;
    return fmt::format("rank {} waits for rank {} on node {} in {}, its operation {}",
                       error_scope_.global_rank({rank_}).value, error_scope_.global_rank({awaited}).value,
                       segment_.member(awaited).node, name, number);
}

Status Watch::end_group(std::string const& text, bool is_timeout) {
    auto& failure = segment_.failure();
    std::uint32_t none = 0;
    if (failure.state.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
        failure.is_timeout = is_timeout ? 1 : 0;
        auto const size = std::min(text.size(), sizeof failure.text - 1);
        std::copy_n(text.data(), size, failure.text);
        failure.text[size] = '\0';
        failure.state.store(2, std::memory_order_release);
        return state();
    }
    // Another rank is writing its Error. The wait is short, because that rank may be lost meanwhile.
    auto const limit = Clock::now() + 10ms;
    while (failure.state.load(std::memory_order_acquire) != 2 && Clock::now() < limit)
        std::this_thread::yield();
    DET_TRY(state());
    return Error{codes::transport, text};
}

}  // namespace det::collectives::node
