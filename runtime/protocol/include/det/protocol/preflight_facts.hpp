#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The result of a test of the checkpoint storage on a node.
struct StorageFacts {
    std::string error;  // empty: a file could be written, synced and removed
    double write_bytes_per_s = 0;
    std::uint64_t free_bytes = 0;  // for this user
};

/// What a compute node sees: `det-launch preflight` writes it, `det-submit site try` reads it.
struct PreflightFacts {
    std::string node;         // the node's name in Slurm
    std::uint32_t index = 0;  // index of the node in the job
    /// The node reads the submitter's token in the shared directory.
    bool is_directory_same = false;
    /// Identifies the file det-launch, to compare it with the submitter's.
    std::string program;
    /// The node's clock minus the file server's; 0 if unknown.
    std::int64_t clock_offset_us = 0;
    std::string path;  // PATH
    /// Programs that jobs start and that are not on the node.
    std::vector<std::string> missing_programs;
    std::map<std::string, std::int64_t> limits;  // "memlock_bytes", "open_files"; -1: unlimited
    /// Host names of the job's nodes that have no address here.
    std::vector<std::string> unresolved;
    /// Network interfaces to the other nodes; empty: none found.
    std::string interfaces;
    std::optional<double> bytes_per_s = std::nullopt;  // received from node 1 by TCP; on node 0 only
    int gpus_allocated = 0;
    int gpus_visible = 0;
    /// The NUMA node of each GPU of the node, allocated or not; -1: not known.
    std::vector<int> gpu_numa_nodes = {};
    /// For each of these GPUs, the NUMA node of the cores that its rank has if each GPU is a slot and the
    /// ranks share the node's cores equally, as without slurm.bind; -1: several, or not known.
    std::vector<int> core_numa_nodes = {};
    std::string runtime_error;  // of the container runtime; empty: it runs, or none is asked for
    std::optional<StorageFacts> storage = std::nullopt;  // nullopt: the storage is no file system
};

/// One line of JSON.
std::string render_preflight_facts(PreflightFacts const& facts);
/// codes::damaged if the text is no such line. Pure.
Result<PreflightFacts> parse_preflight_facts(std::string_view text);

/// The names of the files in the directory of a preflight job.
inline constexpr std::string_view preflight_token_file = "token";
/// What the nodes prove to each other when they connect. The token is on a command line, which all users can
/// read; this file has mode 0600.
inline constexpr std::string_view preflight_secret_file = "secret";
std::string preflight_file_name(std::uint32_t index);  // "node-0.json"

}  // namespace det
