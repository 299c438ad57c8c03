#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::supervisor {

/// The part of the output in which srun's errors are looked for.
constexpr std::uint64_t output_part_bytes = std::uint64_t{64} << 10;

/// A part of the file from `begin_bytes` on, at most output_part_bytes long; empty if it can't be read.
std::string read_output_part(std::filesystem::path const& output, std::uint64_t begin_bytes);

/// srun's errors in a part of the file, at most output_part_bytes long, without their "srun: error: ".
std::vector<std::string> find_srun_errors(std::filesystem::path const& output, std::uint64_t begin_bytes,
                                          std::uint64_t end_bytes);

/// The nodes that srun's error calls lost: "Node failure on n[1-2]" names them, "Cannot communicate with node
/// 1.  Aborting job." has an index of the nodes of its step. Any program may write such a line: what is not a
/// node of the run is left out. Pure.
/// \param is_script whether srun may be that of a script, whose step may have fewer nodes
std::vector<std::string> find_lost_hosts(std::string_view error, std::vector<std::string> const& hosts,
                                         bool is_script);

/// The node on which srun could not start its task: "Task launch for StepId=7.0 failed on node n1:
/// Communication connection failure". Empty for any other error. Pure.
std::string_view find_refused_host(std::string_view error);

}  // namespace det::launch::supervisor
