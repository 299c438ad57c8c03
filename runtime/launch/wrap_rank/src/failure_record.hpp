#pragma once
#include <det/foundation/environment.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "relay.hpp"

namespace det::launch::wrap_rank {

/// Records the failure of the command of one wrapper in the directory of its run: a line for `trial describe`
/// and, if no other process has recorded one, the exit code of the run's first failure. Does not record the
/// code if the process has lost another rank, was ended by TERM, or did not begin because a line of
/// slurm.setup failed. Errors are ignored.
class FailureRecord {
public:
    /// Chooses the file by which the command's process can say that it has lost another rank, and sets
    /// DET_LOST_PEER_FILE to its name.
    /// \param rank in decimal; empty for the command of a node
    /// \param started_by the parent of this process
    FailureRecord(std::string rank, StartedBy started_by, Environment& environment);

    /// Records nothing if the command succeeded or has no log. If the process has lost another rank, returns
    /// when a failure of another command is recorded too, at the latest after two seconds: Slurm and
    /// launchers kill the wrappers of the other ranks once this wrapper has ended. Returns at once if the
    /// supervisor says that the wrapper of a node was killed (RunLayout::killed_node()).
    void write(CommandEnd const& end, RelayedCommand const& command) const;

private:
    std::string rank_;
    bool is_started_by_slurmstepd_;
    std::filesystem::path lost_peer_file_;
    std::uint64_t earlier_memory_kills_;
};

}  // namespace det::launch::wrap_rank
