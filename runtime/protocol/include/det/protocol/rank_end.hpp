#pragma once
#include <det/foundation/clock.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// How a rank failed, as its wrapper saw it: a line of the run's node-<k>.ends (FORMATS.md). A wrapper that
/// is killed by KILL itself says nothing.
struct RankEnd {
    UtcTime time;
    std::optional<std::uint32_t> rank;  // nothing: the node's own command, a launcher
    std::string host;
    int exit_code = 0;       // 128 + signal where a signal ended it
    int signal = 0;          // 0, or what ended it
    std::string last_output;  // the last lines that it printed, without time and label

    friend bool operator==(RankEnd const&, RankEnd const&) = default;
};

/// With its newline.
std::string render_rank_end(RankEnd const& end);

/// Those of one file. Lines that are torn, damaged or of a newer version are left out: what is told of a
/// failure must not fail itself.
std::vector<RankEnd> parse_rank_ends(std::string_view text);

/// Whose end began it all: the earliest rank, or the earliest launcher where no rank said anything.
std::optional<RankEnd> first_to_fail(std::span<RankEnd const> ends);

/// "rank 3 on n2 failed first: exit code 1", "... killed by signal 9 (KILL)".
std::string describe(RankEnd const& end);

}  // namespace det
