#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::supervisor {

// What `det-launch check-health` does on each node of a run.

/// The arguments of `det-launch check-health`.
struct HealthCheck {
    std::filesystem::path directory;  // directory of the reports, on the shared file system
    std::string token;                // what its file `token` contains; the file `secret` is beside it
    std::filesystem::path storage;    // directory of the checkpoints; empty: they are not in a directory
    std::string hosts;                // nodes of the run, as a compressed host list
    std::uint16_t port = 0;           // TCP port on which each node listens
    int gpus = 0;                     // number of GPUs that the run uses on this node
    std::filesystem::path devices = "/dev";
    std::vector<std::string> command = {};  // a program and its arguments; empty: none
    std::chrono::seconds command_timeout{60};
};

/// What a node has found out about itself. It is written twice: when the check begins, and at its end.
struct HealthReport {
    std::uint32_t index = 0;  // of the node in the run
    bool is_complete = false;
    bool listens = false;                       // the node listens on the port
    std::vector<std::string> faults = {};       // why no run should start on this node
    std::vector<std::string> notes = {};        // problems that are not the fault of this node
    std::vector<std::uint32_t> unreached = {};  // the nodes to which it could not connect
    bool lacks_command = false;                 // the program of the command is not there
    bool fails_by_command_only = false;         // all else is well
};

/// One line of JSON.
std::string render_health_report(HealthReport const& report);
/// codes::damaged if the text is no such line. Pure.
Result<HealthReport> parse_health_report(std::string_view text);
std::filesystem::path health_report_path(std::filesystem::path const& directory, std::uint32_t index);
inline constexpr std::string_view health_token_file = "token";
/// What the nodes prove to each other when they connect. The token is on a command line, which all users can
/// read; this file has mode 0600.
inline constexpr std::string_view health_secret_file = "secret";

/// The nodes to which a node connects: the next one and the one after it, so that each node is reached by two
/// others. Pure.
std::vector<std::uint32_t> peers_to_reach(std::uint32_t index, std::uint32_t nodes);

/// Checks this node of a step: GPUs, the local disk, the checkpoint storage, the connections to two peers,
/// and then the command, whose last words become the fault. Takes less than a second and the time of the
/// command if all is well, 30 s more if a peer can't be reached, and longer if a file system blocks.
Status check_node_health(HealthCheck const& check, Environment const& environment);

}  // namespace det::launch::supervisor
