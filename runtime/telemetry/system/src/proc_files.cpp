#include <det/foundation/text.hpp>
#include <det/telemetry/system/proc_files.hpp>

#include <algorithm>
#include <array>

namespace det::telemetry {
namespace {

constexpr std::uint64_t sector_bytes = 512;  // in /proc/diskstats, whatever the disk's own sectors are
constexpr std::uint64_t kibibyte = 1024;

/// The first words of a line.
template <std::size_t count>
struct Words {
    std::array<std::string_view, count> words;
    std::size_t size = 0;

    explicit Words(std::string_view line) {
        while (size < count) {
            auto const begin = line.find_first_not_of(" \t");
            if (begin == line.npos) return;
            line.remove_prefix(begin);
            auto const end = std::min(line.find_first_of(" \t"), line.size());
            words[size++] = line.substr(0, end);
            line.remove_prefix(end);
        }
    }
    std::uint64_t number(std::size_t index) const {
        return index < size ? parse_integer<std::uint64_t>(words[index]).value_or(0) : 0;
    }
};

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view text) {
    // cpu user nice system idle iowait irq softirq steal guest guest_nice; user contains guest already
    constexpr std::size_t idle = 4, iowait = 5, steal = 8;
    for (auto const line : split_lines(text)) {
        if (!line.starts_with("cpu ")) continue;
        Words<steal + 1> const words(line);
        if (words.size <= idle) return std::nullopt;
        CpuTimes times;
        for (std::size_t i = 1; i <= steal; ++i) times.total += words.number(i);
        times.busy = times.total - words.number(idle) - words.number(iowait);
        return times;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse_available_memory(std::string_view text) {
    for (auto const line : split_lines(text)) {
        if (!line.starts_with("MemAvailable:")) continue;
        Words<2> const words(line);
        if (words.size < 2) return std::nullopt;
        return words.number(1) * kibibyte;
    }
    return std::nullopt;
}

DiskCounters parse_disks(std::string_view text, std::function<bool(std::string_view)> const& is_disk) {
    // major minor name reads merged sectors ms writes merged sectors ...
    constexpr std::size_t name = 2, reads = 3, sectors_read = 5, writes = 7, sectors_written = 9;
    DiskCounters sum;
    for (auto const line : split_lines(text)) {
        Words<sectors_written + 1> const words(line);
        if (words.size <= sectors_written || !is_disk(words.words[name])) continue;
        sum.operations += words.number(reads) + words.number(writes);
        sum.read_bytes += words.number(sectors_read) * sector_bytes;
        sum.written_bytes += words.number(sectors_written) * sector_bytes;
    }
    return sum;
}

bool is_virtual_disk(std::string_view name) {
    constexpr std::string_view prefixes[] = {"dm-", "md", "loop", "ram", "zram"};
    return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

NetworkCounters parse_network(std::string_view text) {
    // name: bytes packets errs drop fifo frame compressed multicast bytes ...
    constexpr std::size_t received = 0, sent = 8;
    NetworkCounters sum;
    for (auto const line : split_lines(text)) {
        auto const colon = line.find(':');
        if (colon == line.npos || trim(line.substr(0, colon)) == "lo") continue;
        Words<sent + 1> const words(line.substr(colon + 1));
        sum.received_bytes += words.number(received);
        sum.sent_bytes += words.number(sent);
    }
    return sum;
}

}  // namespace det::telemetry
