#include "logs/log_filter.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

namespace det::cli {
namespace {

struct Unit {
    char letter;
    std::int64_t seconds;
};
constexpr Unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
constexpr std::int64_t amount_max = 1'000'000;

std::optional<UtcTime> parse_ago(std::string_view text, UtcTime now) {
    for (auto const& unit : units) {
        if (text.empty() || text.back() != unit.letter) continue;
        auto const amount = parse_integer<std::int64_t>(text.substr(0, text.size() - 1));
        if (!amount || *amount < 0 || *amount > amount_max) return std::nullopt;
        return UtcTime{now.microseconds - *amount * unit.seconds * 1'000'000};
    }
    return std::nullopt;
}

}  // namespace

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

void LogFilter::only_rank(std::uint32_t rank) {
    rank_ = rank;
    label_ = fmt::format("[rank={}] ", rank);
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
    if (rank_ && line.rank != rank_) return false;
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

}  // namespace det::cli
