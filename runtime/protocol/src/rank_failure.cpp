#include <det/foundation/text.hpp>
#include <det/protocol/rank_failure.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "json_fields.hpp"

namespace det {
namespace {

constexpr char version_key[] = "rank_end";
constexpr int version = 1;

/// Signals that end a process. glibc's sigabbrev_np() is missing on EL8 (glibc 2.28).
constexpr std::pair<int, std::string_view> signal_names[] = {
    {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},   {SIGTRAP, "TRAP"},
    {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},
    {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"}, {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
    {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGSYS, "SYS"}};

std::string describe_status(RankFailure const& end) {
    if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
    auto const* const named =
        std::ranges::find(signal_names, end.signal, &std::pair<int, std::string_view>::first);
    if (named == std::ranges::end(signal_names)) return fmt::format("killed by signal {}", end.signal);
    return fmt::format("killed by signal {} ({})", end.signal, named->second);
}

std::string describe_end(RankFailure const& end) {
    return describe_status(end) + (end.was_out_of_memory ? ", out of memory" : "") +
           (end.is_slurmstepd_gone ? ", because the slurmstepd of its step was gone" : "");
}

}  // namespace

template <>
inline constexpr JsonField json_fields<RankFailure>[] = {
    field<&RankFailure::time>("time"),
    field<&RankFailure::rank>("rank"),
    field<&RankFailure::host>("host"),
    field<&RankFailure::exit_code>("exit_code"),
    absent_in_old(field<&RankFailure::signal>("signal")),
    absent_in_old(field<&RankFailure::last_output>("last_words")),
    optional_field<&RankFailure::setup_failure>("setup"),
    optional_field<&RankFailure::lost_peer>("lost_peer"),
    optional_field<&RankFailure::was_out_of_memory>("out_of_memory"),
    optional_field<&RankFailure::is_slurmstepd_gone>("slurmstepd_gone"),
};

std::string render_rank_failure(RankFailure const& end) {
    return render_versioned_line(version_key, version, end);
}

std::vector<RankFailure> parse_rank_failures(std::string_view text) {
    return parse_versioned_lines<RankFailure>(version_key, version, text);
}

std::optional<RankFailure> first_to_fail(std::span<RankFailure const> ends) {
    auto const order = [](RankFailure const& end) {
        return std::tuple(end.setup_failure.empty(), !end.is_slurmstepd_gone, !end.rank,
                          !end.lost_peer.empty(), end.time, end.rank);
    };
    auto const first = std::ranges::min_element(ends, {}, order);
    return first == ends.end() ? std::nullopt : std::optional(*first);
}

std::string describe(RankFailure const& end) {
    if (!end.setup_failure.empty())
        return fmt::format("on {}, {}", escape_control(end.host), escape_control(end.setup_failure));
    auto const who = end.rank ? fmt::format("rank {}", *end.rank) : "the entrypoint";
    auto const how = describe_end(end);
    auto const host = escape_control(end.host);
    if (end.lost_peer.empty()) return fmt::format("{} on {} failed first: {}", who, host, how);
    return fmt::format("{} on {} failed after another rank: {} ({})", who, host, how,
                       escape_control(end.lost_peer));
}

}  // namespace det
