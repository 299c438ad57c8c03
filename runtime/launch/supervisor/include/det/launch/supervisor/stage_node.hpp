#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// The arguments of `det-launch stage-node`.
struct StageRequest {
    /// Of this step, on the shared file system: it has the rendezvous file of the nodes, and gets the
    /// reason of the first node that fails.
    std::filesystem::path directory;
    std::string hosts;             // of the run, as a compressed host list
    std::uint64_t code_bytes = 0;  // size of the archive with the code; 0: it is not brought to the nodes
    std::chrono::seconds other_job_limit{0};  // how long the node waits for files that other jobs bring to it
};

namespace stage_step {
inline constexpr char rendezvous[] = "rendezvous";
inline constexpr char failure[] = "failure";  // the message, and the hint in a second line
}  // namespace stage_step

/// Brings the files of slurm.stage to the disk of this node, and links them into DET_STAGE. Collective over
/// the nodes of the run: one of those that lack a file reads it and sends it to the others. If the nodes
/// don't reach each other, each reads the files itself. Blocks.
Status stage_node(StageRequest const& request, Environment const& environment);

}  // namespace det::launch::supervisor
