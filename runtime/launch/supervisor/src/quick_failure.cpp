#include "quick_failure.hpp"

#include <det/journal/reader.hpp>
#include <det/protocol/rank_failure.hpp>

#include <algorithm>
#include <array>
#include <csignal>

namespace det::launch::supervisor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Length of the number at the begin of the text: "0x7f3a" or "4711"; 0 if there is none.
std::size_t number_size(std::string_view text) {
    bool const has_prefix = text.size() > 2 && text.starts_with("0x") && is_hexadecimal(text[2]);
    auto const rest = text.substr(has_prefix ? 2 : 0);
    auto const* const end = std::ranges::find_if_not(rest, has_prefix ? is_hexadecimal : is_digit);
    return static_cast<std::size_t>(end - rest.begin()) + (has_prefix ? 2 : 0);
}

/// Whether something else than the program ended it: Slurm, its launcher, the kernel for lack of memory.
bool was_ended(RankFailure const& failure) {
    constexpr std::array from_others{SIGKILL, SIGTERM, SIGINT, SIGHUP};
    return std::ranges::find(from_others, failure.signal) != from_others.end() || !failure.lost_peer.empty();
}

/// Whether the run has failed soon after its start. A run without a recorded end fails now.
bool failed_soon(RunLayout const& run, UtcTime now) {
    auto const life = journal::load_journal(run.supervisor_journal());
    if (!life) return false;
    std::optional<UtcTime> started;
    for (auto const& record : life->records) {
        if (auto const* start = std::get_if<RunStarted>(&record)) started = start->time;
        if (auto const* end = std::get_if<RunEnded>(&record)) {
            if (end->cause != Cause::failed) return false;
            now = end->time;
        }
    }
    auto const limit_us = std::chrono::microseconds(quick_failure_limit).count();
    return started && now.microseconds - started->microseconds < limit_us;
}

}  // namespace

std::string without_numbers(std::string_view text) {
    std::string kept;
    while (!text.empty()) {
        auto const size = number_size(text);
        kept += size > 0 ? '#' : text.front();
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return kept;
}

std::optional<QuickFailure> find_quick_failure(RunLayout const& run, UtcTime now) {
    if (!failed_soon(run, now)) return std::nullopt;
    auto const failures = journal::load_rank_failures(run);
    auto const first = failures ? first_to_fail(*failures) : std::nullopt;
    if (!first || was_ended(*first)) return std::nullopt;
    return QuickFailure{first->exit_code, without_numbers(first->setup_failure + first->last_output)};
}

}  // namespace det::launch::supervisor
