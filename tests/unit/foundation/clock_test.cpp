#include <det/foundation/clock.hpp>
#include <det/foundation/local_time.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>

#include "local_time_zone.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(clock_test)

BOOST_AUTO_TEST_CASE(a_time_is_written_in_utc_with_microseconds) {
    BOOST_TEST(format_utc(UtcTime{0}) == "1970-01-01T00:00:00.000000Z");
    BOOST_TEST(format_utc(UtcTime{1'795'248'930'000'042}) == "2026-11-21T08:15:30.000042Z");
    BOOST_TEST(format_utc(UtcTime{-1}) == "1969-12-31T23:59:59.999999Z");
    auto const of_day = [](std::int64_t microseconds) {
        auto const text = format_utc(UtcTime{microseconds});
        return text.substr(text.find('T'));
    };
    BOOST_TEST(of_day(std::numeric_limits<std::int64_t>::min()) == "T19:59:05.224192Z");
    BOOST_TEST(of_day(std::numeric_limits<std::int64_t>::max()) == "T04:00:54.775807Z");
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back) {
    for (std::int64_t const time : {0LL, 1'795'248'930'000'042LL, 951'782'400'000'000LL, -86'400'000'001LL}) {
        BOOST_TEST(parse_utc(format_utc(UtcTime{time})).value().microseconds == time);
    }
    BOOST_TEST(parse_utc("2026-11-21T08:15:30Z").value().microseconds == 1'795'248'930'000'000);
    BOOST_TEST(parse_utc("2026-11-21T08:15:30.5Z").value().microseconds == 1'795'248'930'500'000);
}

BOOST_AUTO_TEST_CASE(text_that_is_not_a_time_is_refused) {
    for (auto const* text :
         {"", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T08:15:30",
          "2026-11-21T08:15:30.Z", "2026-11-21T08:15:30.1234567Z", "2026-11-21 08:15:30Z"}) {
        BOOST_TEST(!parse_utc(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(a_local_time_is_that_of_the_time_zone_of_the_process) {
    LocalTimeZone const two_hours_east("XYZ-2");
    UtcTime const late{1'795'298'400'000'000};  // 2026-11-21T22:00:00Z
    BOOST_TEST(format_local(late, "%Y-%m-%d %H:%M:%S %Z") == "2026-11-22 00:00:00 XYZ");
    BOOST_TEST(to_local(late).tm_hour == 0);
}

BOOST_AUTO_TEST_SUITE_END()
