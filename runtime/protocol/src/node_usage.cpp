#include <det/protocol/node_usage.hpp>

#include <algorithm>

#include "json_fields.hpp"

namespace det {

template <>
inline constexpr JsonField json_fields<NodeUsage>[] = {
    field<&NodeUsage::windows>("windows"),
    field<&NodeUsage::idle_ms>("idle_ms"),
    field<&NodeUsage::percent>("percent"),
};

namespace {

constexpr char usage_key[] = "node_usage";
constexpr int usage_version = 1;
constexpr std::uint64_t count_max = std::uint64_t{1} << 52;  // also refuses negative numbers

}  // namespace

std::chrono::milliseconds usage_window(std::chrono::seconds idle_timeout) {
    using namespace std::chrono_literals;
    return std::clamp<std::chrono::milliseconds>(std::chrono::milliseconds(idle_timeout) / 10, 1s, 60s);
}

std::string render_node_usage(NodeUsage const& usage) {
    return render_versioned_line(usage_key, usage_version, usage);
}

Result<NodeUsage> parse_node_usage(std::string_view text) {
    auto const lines = parse_versioned_lines<NodeUsage>(usage_key, usage_version, text);
    bool const is_valid =
        lines.size() == 1 && lines.front().windows <= count_max && lines.front().idle_ms <= count_max;
    if (is_valid) return lines.front();
    return Error{codes::damaged, "it is not how much a node is used"};
}

}  // namespace det
