#include "log_merge.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/layout.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

namespace det::cli {
namespace {

constexpr std::size_t time_size = 27;  // 2026-11-21T08:15:30.000042Z
constexpr std::string_view rank_start = "[rank=";
constexpr std::string_view log_prefix = "node-";
constexpr std::string_view log_ending = ".log";

struct NodeLog {
    explicit NodeLog(std::filesystem::path const& path, int number) : file(path), node(number) {}

    bool next() {
        if (!std::getline(file, line)) return false;
        parsed = parse_log_line(line);
        parsed.node = node;
        return true;
    }

    std::ifstream file;
    int node;
    std::string line;
    LogLine parsed;
};

}  // namespace

std::optional<int> node_of_log(std::string_view name) {
    if (!name.starts_with(log_prefix) || !name.ends_with(log_ending)) return std::nullopt;
    return parse_integer<int>(
        name.substr(log_prefix.size(), name.size() - log_prefix.size() - log_ending.size()));
}

LogLine parse_log_line(std::string_view line) {
    LogLine parsed{line, {}, {}, line, 0};
    bool const has_time = line.size() > time_size && line[time_size - 1] == 'Z' && line[time_size] == ' ';
    if (!has_time) return parsed;
    parsed.time = line.substr(0, time_size);
    parsed.text = line.substr(time_size + 1);
    auto const end = parsed.text.find("] ");
    if (!parsed.text.starts_with(rank_start) || end == std::string_view::npos) return parsed;
    parsed.rank =
        parse_integer<std::uint32_t>(parsed.text.substr(rank_start.size(), end - rank_start.size()));
    if (parsed.rank) parsed.text.remove_prefix(end + 2);
    return parsed;
}

Status merge_node_logs(std::filesystem::path const& run, std::function<void(LogLine const&)> const& sink) {
    DET_TRY_ASSIGN(auto const names, list_directory(run));
    std::vector<std::unique_ptr<NodeLog>> logs;
    for (auto const& name : names) {
        auto const node = node_of_log(name);
        if (!node) continue;
        auto log = std::make_unique<NodeLog>(run / name, *node);
        if (log->next()) logs.push_back(std::move(log));
    }
    // The earliest first; nodes in their order where times are the same.
    auto const later = [](auto const& a, auto const& b) {
        return std::tie(a->parsed.time, a->node) > std::tie(b->parsed.time, b->node);
    };
    std::make_heap(logs.begin(), logs.end(), later);
    while (!logs.empty()) {
        std::pop_heap(logs.begin(), logs.end(), later);
        sink(logs.back()->parsed);
        if (logs.back()->next()) {
            std::push_heap(logs.begin(), logs.end(), later);
        } else {
            logs.pop_back();
        }
    }
    return Ok{};
}

}  // namespace det::cli
