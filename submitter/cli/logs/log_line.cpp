#include "logs/log_line.hpp"

#include <det/foundation/text.hpp>

#include <array>

namespace det::cli {
namespace {

constexpr std::size_t time_size = 27;  // 2026-11-21T08:15:30.000042Z
constexpr std::string_view rank_start = "[rank=";
constexpr std::string_view log_prefix = "node-";
constexpr std::string_view log_ending = ".log";
constexpr std::array<std::string_view, 6> level_names{"TRACE",   "DEBUG", "INFO",
                                                      "WARNING", "ERROR", "CRITICAL"};

std::optional<LogLevel> find_level(std::string_view name) {
    for (std::size_t i = 0; i < level_names.size(); ++i) {
        if (level_names[i] == name) return static_cast<LogLevel>(i);
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
    std::string upper(text);
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (upper == "WARN") return LogLevel::warning;
    if (upper == "FATAL") return LogLevel::critical;
    return find_level(upper);
}

LogLine parse_log_line(std::string_view line) {
    LogLine parsed{line, {}, {}, line, 0, 0};
    bool const has_time = line.size() > time_size && line[time_size - 1] == 'Z' && line[time_size] == ' ';
    if (!has_time) return parsed;
    parsed.time = line.substr(0, time_size);
    parsed.text = line.substr(time_size + 1);
    if (!parsed.text.starts_with(rank_start)) return parsed;
    auto const end = parsed.text.find("] ");
    if (end == std::string_view::npos) return parsed;
    parsed.rank =
        parse_integer<std::uint32_t>(parsed.text.substr(rank_start.size(), end - rank_start.size()));
    if (parsed.rank) parsed.text.remove_prefix(end + 2);
    return parsed;
}

std::optional<LogLevel> level_of(LogLine const& line) {
    auto const colon = line.text.substr(0, level_names.back().size() + 1).find(':');
    return colon == std::string_view::npos ? std::nullopt : find_level(line.text.substr(0, colon));
}

std::optional<int> node_of_log(std::string_view name) {
    if (!name.starts_with(log_prefix) || !name.ends_with(log_ending)) return std::nullopt;
    return parse_integer<int>(
        name.substr(log_prefix.size(), name.size() - log_prefix.size() - log_ending.size()));
}

}  // namespace det::cli
