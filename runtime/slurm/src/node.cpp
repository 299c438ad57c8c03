#include <det/foundation/text.hpp>
#include <det/slurm/node.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <span>

namespace det::slurm {
namespace {

/// Parses the CPU counts "4/12/0/16": allocated, idle, other, total.
void read_cpus(Node& node, std::string_view text) {
    auto const counts = split(text, '/');
    if (counts.size() != 4) return;
    node.cpus_used = parse_integer<int>(counts[0]).value_or(0);
    node.cpus = parse_integer<int>(counts[3]).value_or(0);
}

/// A column of sinfo: its name, its width, and the member that it fills.
struct SinfoColumn {
    std::string_view name;
    std::size_t width;
    void (*read)(Node&, std::string_view);
};

// With --Node a row is about one node: NodeList is its NodeName. (NodeHost would be its host name, which may
// differ.)
constexpr SinfoColumn sinfo_columns[] = {
    {"NodeList", 128, [](Node& node, std::string_view t) { node.name = t; }},
    {"PartitionName", 128, [](Node& node, std::string_view t) { node.partition = t; }},
    {"StateComplete", 64, [](Node& node, std::string_view t) { node.state = t; }},
    {"CPUsState", 48, read_cpus},
    {"Gres", 256, [](Node& node, std::string_view t) { node.gres = t; }},
    {"GresUsed", 256, [](Node& node, std::string_view t) { node.gres_used = t; }},
    {"Reason", 256, [](Node& node, std::string_view t) { node.reason = t == "none" ? "" : t; }},
};

/// Parses rows of fixed-width columns by counting bytes, each row ended by a newline: separators and newlines
/// in a field are part of the field. nullopt if the text is not a whole number of rows. Fields are returned
/// without trailing blanks.
std::optional<std::vector<std::vector<std::string_view>>> parse_fixed_columns(
    std::string_view text, std::span<std::size_t const> widths) {
    auto const row_size = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + 1;
    if (text.size() % row_size != 0) return std::nullopt;
    std::vector<std::vector<std::string_view>> rows;
    for (; !text.empty(); text.remove_prefix(row_size)) {
        if (text[row_size - 1] != '\n') return std::nullopt;
        auto& row = rows.emplace_back();
        std::size_t at = 0;
        for (auto const width : widths) {
            auto const field = text.substr(at, width);
            row.push_back(field.substr(0, field.find_last_not_of(' ') + 1));
            at += width;
        }
    }
    return rows;
}

/// Whether a state such as "idle+cloud+not_responding" or "mixed*" has the flag. sinfo's short form marks a
/// state with a sign at its end.
bool has_flag(std::string_view state, std::string_view flag) {
    auto const is_part = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    auto rest = to_lower(state);
    std::replace_if(
        rest.begin(), rest.end(), [&](char c) { return !is_part(c); }, '+');
    auto const flags = split(rest, '+');
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// Base states and flags of both forms: "drain" and "drained", "maintenance" and "maint". A node that is
// powered down is not among them: Slurm powers it up.
constexpr std::string_view unavailable_states[] = {
    "down",           "drain", "drained",     "draining",    "power_drain",      "fail",          "failing",
    "unknown",        "maint", "maintenance", "reboot",      "reboot_requested", "reboot_issued", "future",
    "dynamic_future", "error", "inval",       "invalid_reg", "blocked"};

}  // namespace

bool Node::is_unavailable() const {
    return std::any_of(std::begin(unavailable_states), std::end(unavailable_states),
                       [&](auto flag) { return has_flag(state, flag); });
}

bool Node::is_unresponsive() const { return state.ends_with('*') || has_flag(state, "not_responding"); }

bool Node::is_free() const { return !is_unavailable() && cpus_used == 0 && has_flag(state, "idle"); }

std::string node_format() {
    std::string format;
    for (auto const& column : sinfo_columns)
        format += fmt::format("{}{}:{}", format.empty() ? "" : ",", column.name, column.width);
    return format;
}

Result<std::vector<Node>> parse_nodes(std::string_view sinfo_output) {
    std::array<std::size_t, std::size(sinfo_columns)> widths;
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = sinfo_columns[i].width;
    auto const rows = parse_fixed_columns(sinfo_output, widths);
    if (!rows) return Error{codes::slurm_output, "sinfo did not print the requested columns"};
    std::vector<Node> nodes;
    for (auto const& row : *rows) {
        auto& node = nodes.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i) sinfo_columns[i].read(node, row[i]);
    }
    return nodes;
}

}  // namespace det::slurm
