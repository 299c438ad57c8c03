#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/bad_nodes.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::journal {
namespace {

std::optional<BadNode> parse_bad_node(std::string const& text) {
    auto const body = try_parse_json(text);
    auto const node = decode_json("a bad node", [&] {
        return BadNode{body.at("host"), ExperimentId{body.at("experiment")},
                       parse_utc(body.at("time").get<std::string>()).value_or(UtcTime{}), body.at("why")};
    });
    return node ? std::optional(*node) : std::nullopt;
}

}  // namespace

Status remember_bad_node(RootLayout const& root, BadNode const& node) {
    bool const is_name = !node.host.empty() && node.host.front() != '.' && node.host.size() <= 200 &&
                         node.host.find('/') == std::string::npos;
    if (!is_name) return Error{codes::bad_value, fmt::format("'{}' is no name of a node", node.host)};
    DET_TRY(make_directories(root.bad_nodes()));
    Json const body{{"host", node.host},
                    {"experiment", node.experiment.value},
                    {"time", format_utc(node.time)},
                    {"why", node.why}};
    return write_file(root.bad_nodes() / fmt::format("{}@{}", node.host, node.experiment.value),
                      to_line(body) + "\n");
}

Result<std::vector<BadNode>> load_bad_nodes(RootLayout const& root) {
    std::vector<BadNode> nodes;
    if (!path_exists(root.bad_nodes())) return nodes;
    DET_TRY_ASSIGN(auto names, list_trusted_directory(root.bad_nodes()));
    std::sort(names.begin(), names.end());
    for (auto const& name : names) {
        auto const text = read_trusted_file(root.bad_nodes() / name);
        if (!text) continue;
        if (auto node = parse_bad_node(*text)) nodes.push_back(*std::move(node));
    }
    return nodes;
}

}  // namespace det::journal
