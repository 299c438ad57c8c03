#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace det::cli {

/// A line of a node's log, "<time> [rank=N] text"; views into it.
struct LogLine {
    std::string_view whole;
    std::string_view time;
    std::optional<std::uint32_t> rank;  // nothing: a launcher's own words
    std::string_view text;
    int node = 0;
};

/// 3 of "node-3.log"; nothing for other names.
std::optional<int> node_of_log(std::string_view file_name);

/// A line taken apart; one that has no time is all text. Pure.
LogLine parse_log_line(std::string_view line);

/// Gives the lines of all node logs of a run to `sink`, in the order of their times. Reads on as it goes:
/// memory is a line per node.
Status merge_node_logs(std::filesystem::path const& run, std::function<void(LogLine const&)> const& sink);

}  // namespace det::cli
