#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace det::launch::supervisor {

// What a node can do for a run. Used by `det-launch preflight` and by the health check of a run.

/// The result of writing a file into a directory.
struct WriteProbe {
    std::string error;     // empty: the file could be written and synced
    int error_number = 0;  // errno of the error
    double bytes_per_s = 0;
};

/// Writes `size_bytes` into a new file of the directory, syncs it and removes it. Blocks as long as the file
/// system does.
/// \param name of the file; two processes must not use the same one at the same time
WriteProbe probe_writing(std::filesystem::path const& directory, std::string const& name,
                         std::size_t size_bytes);

/// Counts the NVIDIA GPUs that this process may open; if there are none, the render devices (/dev/dri) that
/// it may open.
/// \param devices  /dev
int count_openable_gpus(std::filesystem::path const& devices = "/dev");

/// The number of GPUs that Slurm has given to this step.
int count_allocated_gpus(Environment const& environment);

/// Whether the name of a host has an address.
bool has_address(std::string const& host);
/// The numeric addresses of a host. Empty if it has none.
std::vector<std::string> addresses_of(std::string const& host);

/// A non-blocking TCP socket that listens on all addresses. Empty after an error, for example if the port is
/// taken.
UniqueFd listen_on(std::uint16_t port);

/// Connects to the port, and tries again until the deadline, because the other process may not listen yet.
/// Empty at the deadline, or if the host has no address. The socket is non-blocking.
UniqueFd connect_until(std::string const& host, std::uint16_t port,
                       std::chrono::steady_clock::time_point deadline);

/// Waits for events of poll(2).
/// \return false at the deadline or after an error of poll(2)
bool wait_for_events(int fd, short events, std::chrono::steady_clock::time_point deadline);

}  // namespace det::launch::supervisor
