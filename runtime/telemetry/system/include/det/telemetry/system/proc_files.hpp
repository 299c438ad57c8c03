#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace det::telemetry {

// Parsers of the kernel's text files about a node. Lines that have another form than expected are ignored.
// Pure.

/// Sums over all processors since the node's start, in clock ticks.
struct CpuTimes {
    std::uint64_t busy = 0;
    std::uint64_t total = 0;
};
/// \param text of /proc/stat
/// \return nullopt if the text has no line of sums
std::optional<CpuTimes> parse_cpu_times(std::string_view text);

/// MemAvailable in bytes.
/// \param text of /proc/meminfo
std::optional<std::uint64_t> parse_available_memory(std::string_view text);

/// Sums over the disks since the node's start.
struct DiskCounters {
    std::uint64_t operations = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
};
/// \param text of /proc/diskstats
/// \param is_disk whether a device is a disk, and not a partition of one
DiskCounters parse_disks(std::string_view text, std::function<bool(std::string_view)> const& is_disk);
/// Whether the device passes its operations to other devices of /proc/diskstats: dm-0, md0, loop0; or is
/// memory.
bool is_virtual_disk(std::string_view name);

/// Sums over the interfaces except lo, since the node's start.
struct NetworkCounters {
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
};
/// \param text of /proc/net/dev
NetworkCounters parse_network(std::string_view text);

}  // namespace det::telemetry
