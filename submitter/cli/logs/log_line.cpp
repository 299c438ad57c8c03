#include "logs/log_line.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

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

std::optional<UtcTime> parse_ago(std::string_view text, UtcTime now) {
    auto const ago = parse_duration_s(text);
    if (!ago) return std::nullopt;
    return UtcTime{now.microseconds - static_cast<std::int64_t>(*ago * 1e6)};
}

}  // namespace

Json to_json(LogLine const& line) {
    auto const level = level_of(line);
    return {{"run", line.run},
            {"node", line.node},
            {"rank", json_or_null(line.rank)},
            {"time", line.time},
            {"level", level ? Json(to_string(*level)) : Json(nullptr)},
            {"message", line.text}};
}

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

std::optional<UtcTime> parse_moment(std::string_view text, UtcTime now) {
    if (auto const ago = parse_ago(text, now)) return ago;
    std::string whole(text);
    if (whole.ends_with('Z')) whole.pop_back();
    if (whole.size() > 10 && whole[10] == ' ') whole[10] = 'T';
    // Parts of the time that the user left out are zero.
    constexpr std::string_view zero = "0000-00-00T00:00:00";
    for (std::size_t const complete : {10, 16}) {
        if (whole.size() == complete) whole += zero.substr(complete);
    }
    return parse_utc(whole + "Z");
}

void LogFilter::only_ranks(std::vector<std::uint32_t> ranks) {
    std::ranges::sort(ranks);
    ranks_ = std::move(ranks);
    takes_lines_without_label_ = false;
    if (ranks_.empty()) {
        label_.clear();
    } else {
        label_ = ranks_.size() == 1 ? fmt::format("[rank={}] ", ranks_.front()) : std::string(rank_start);
    }
}

void LogFilter::take_lines_without_label() {
    if (!std::ranges::binary_search(ranks_, 0U)) return;
    takes_lines_without_label_ = true;
    label_.clear();
}

Status LogFilter::grep(std::string const& pattern) {
    auto compiled = std::make_unique<regex_t>();
    if (int const wrong = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED); wrong != 0) {
        char reason[200];
        ::regerror(wrong, compiled.get(), reason, sizeof reason);
        return Error{codes::usage, fmt::format("'{}' is no regular expression: {}", pattern, reason)};
    }
    pattern_ = std::shared_ptr<regex_t>(compiled.release(), [](regex_t* regex) {
        ::regfree(regex);
        delete regex;
    });
    return Ok{};
}

bool LogFilter::matches(LogLine const& line) const {
    bool const is_of_rank =
        line.rank ? std::ranges::binary_search(ranks_, *line.rank) : takes_lines_without_label_;
    if (!ranks_.empty() && !is_of_rank) return false;
    if (!since_.empty() && line.time < since_) return false;
    if (!until_.empty() && line.time > until_) return false;
    if (level_) {
        auto const level = level_of(line);
        if (!level || *level < *level_) return false;
    }
    if (pattern_ == nullptr) return true;
    // REG_STARTEND, because the text is not null-terminated and may contain NUL.
    regmatch_t range{0, static_cast<regoff_t>(line.text.size())};
    return ::regexec(pattern_.get(), line.text.data(), 1, &range, REG_STARTEND) == 0;
}

std::string escape_control_except_tabs(std::string_view text) {
    std::string out;
    for (bool first = true; auto const part : split(text, '\t')) {
        if (!first) out += '\t';
        out += escape_control(part);
        first = false;
    }
    return out;
}

}  // namespace det::cli
