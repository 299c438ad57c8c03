#pragma once
#include <det/foundation/clock.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The failure of a rank, which its wrapper records as a line of the run's node-<k>.ends (FORMATS.md). A
/// wrapper that is killed with SIGKILL records nothing.
struct RankFailure {
    UtcTime time;
    std::optional<std::uint32_t> rank;  // nullopt: the node's command, for example a launcher
    std::string host;
    int exit_code = 0;        // 128 + signal if a signal ended it
    int signal = 0;           // the signal that ended it, or 0
    std::string last_output;  // its last output lines without time and label
    /// The line of slurm.setup that failed, and its exit code; empty if the command has begun.
    std::string setup_failure = {};
    /// The message by which the rank's process learned that another rank was lost; empty if it did not. Such
    /// an end is a consequence of the other rank's end.
    std::string lost_peer = {};
    /// The kernel killed a process of the command, or one beside it in its cgroup, for lack of memory.
    bool was_out_of_memory = false;
    /// The slurmstepd of the step was gone on this node, and the wrapper has killed the command: srun does
    /// not learn of this end.
    bool is_slurmstepd_gone = false;

    friend bool operator==(RankFailure const&, RankFailure const&) = default;
};

namespace variables {
/// The variable with the name of a file in DET_RUN_DIR. The process of the rank writes RankFailure::lost_peer
/// into this file.
inline constexpr char lost_peer_file[] = "DET_LOST_PEER_FILE";
}  // namespace variables

/// Renders a line with its newline.
std::string render_rank_failure(RankFailure const& end);

/// Parses one file. Ignores lines that are torn, damaged or of a newer version, so that the other lines can
/// still be read.
std::vector<RankFailure> parse_rank_failures(std::string_view text);

/// The failure that counts as the first: the earliest one of slurm.setup; without one, of a node without its
/// slurmstepd; without one, of a rank; without one, of a launcher. An end with lost_peer comes after all
/// others of its kind, whatever its time is: a wrapper may record the cause after the consequence, and the
/// clocks of two nodes differ.
std::optional<RankFailure> first_to_fail(std::span<RankFailure const> ends);

/// Formats like "rank 3 on n2 failed first: exit code 1", "... killed by signal 9 (KILL), out of memory",
/// "rank 0 on n1 failed after another rank: exit code 1 (rank 3 on n2 was lost: ...)" or "on n2, line 1 of
/// slurm.setup failed with exit code 1: module load cuda".
std::string describe(RankFailure const& end);

}  // namespace det
