#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// How the checkpoint storage answers on a node.
struct StorageFacts {
    std::string error;  // empty: a file could be written, synced and removed
    double write_bytes_per_s = 0;
    std::uint64_t free_bytes = 0;  // for this user
};

/// What a compute node sees: `det-launch preflight` writes it, `det-submit site try` reads it.
struct PreflightFacts {
    std::string node;                                  // its host name
    std::uint32_t index = 0;                           // in the job
    bool is_directory_same = false;                    // the token of the submitter is in the directory
    std::string program;                               // identifies the contents of det-launch
    std::int64_t clock_offset_us = 0;                  // its clock minus that of the file system
    std::string path;                                  // PATH
    std::vector<std::string> missing_programs;         // of those that jobs start
    std::map<std::string, std::int64_t> limits;        // "memlock_bytes", "open_files"; -1: unlimited
    std::vector<std::string> unresolved;               // names of peers without an address
    std::string interfaces;                            // that lead to the peers; empty: none found
    std::optional<double> bytes_per_s = std::nullopt;  // received from a peer by TCP; node 0 only
    int gpus_allocated = 0;
    int gpus_visible = 0;
    std::string runtime_error;  // of the container runtime; empty: it runs, or none is asked for
    std::optional<StorageFacts> storage = std::nullopt;  // nullopt: the storage is no file system
};

/// One line of JSON.
std::string render_preflight_facts(PreflightFacts const& facts);
/// codes::damaged if the text is no such line. Pure.
Result<PreflightFacts> parse_preflight_facts(std::string_view text);

/// The names of the files in the directory of a preflight job.
inline constexpr std::string_view preflight_token_file = "token";
std::string preflight_file_name(std::uint32_t index);  // "node-0.json"

}  // namespace det
