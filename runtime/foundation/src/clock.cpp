#include <det/foundation/clock.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <thread>

namespace det {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

constexpr std::int64_t microseconds_per_second = 1'000'000;
constexpr std::int64_t microseconds_per_day = 86'400 * microseconds_per_second;

}  // namespace

std::string format_utc(UtcTime time) {
    auto day = time.microseconds / microseconds_per_day;
    auto in_day = time.microseconds % microseconds_per_day;
    if (in_day < 0) {
        --day;
        in_day += microseconds_per_day;
    }
    std::chrono::year_month_day const date{sys_days{days{day}}};
    auto const second = in_day / microseconds_per_second;
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600,
                       second / 60 % 60, second % 60, in_day % microseconds_per_second);
}

std::optional<UtcTime> parse_utc(std::string_view text) {
    constexpr std::size_t size_without_decimals = 20;  // 2026-11-21T08:15:30Z
    constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
    if (text.size() < size_without_decimals || text.back() != 'Z') return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        bool const fits = shape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == shape[i];
        if (!fits) return std::nullopt;
    }
    auto const number = [&](std::size_t at, std::size_t size) {
        return *parse_integer<int>(text.substr(at, size));
    };
    std::chrono::year_month_day const date{std::chrono::year{number(0, 4)},
                                           std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                           std::chrono::day{static_cast<unsigned>(number(8, 2))}};
    int const hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;

    std::string decimals(text.substr(19, text.size() - size_without_decimals));
    if (!decimals.empty()) {
        if (decimals[0] != '.' || decimals.size() < 2 || decimals.size() > 7) return std::nullopt;
        decimals.erase(0, 1);
    }
    decimals.resize(6, '0');
    auto const micro = parse_integer<std::uint32_t>(decimals);
    if (!micro) return std::nullopt;
    std::int64_t const day = sys_days{date}.time_since_epoch().count();
    return UtcTime{day * microseconds_per_day +
                   (hour * 3600 + minute * 60 + second) * microseconds_per_second + *micro};
}

UtcTime SystemClock::now() const {
    auto const since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

std::chrono::steady_clock::time_point SystemClock::steady_now() const {
    return std::chrono::steady_clock::now();
}

void SystemClock::sleep_for(std::chrono::milliseconds duration) { std::this_thread::sleep_for(duration); }

}  // namespace det
