#include <det/foundation/repeat_write.hpp>
#include <det/foundation/result.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_clock.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace repeat_write_test {

Error const full{codes::file_system, "cannot write: No space left on device"};

struct Fixture {
    FakeClock clock;
    int calls = 0;
    int first_failures = 0;

    WriteRetry retry(std::chrono::milliseconds timeout) {
        WriteRetry made{timeout, 1s};
        made.on_first = [this](Error const& error) {
            BOOST_TEST((error == full));
            ++first_failures;
        };
        return made;
    }
    /// A write that succeeds when this time has passed.
    Result<int> write_at(std::chrono::milliseconds time) {
        ++calls;
        if (clock.steady_now().time_since_epoch() < time) return full;
        return 7;
    }
};

}  // namespace repeat_write_test

BOOST_FIXTURE_TEST_SUITE(repeat_write_test, Fixture)

BOOST_AUTO_TEST_CASE(a_write_that_succeeds_is_called_once) {
    BOOST_TEST(must(repeat_write(clock, retry(10s), [&] { return write_at(0s); })) == 7);
    BOOST_TEST(calls == 1);
    BOOST_TEST(first_failures == 0);
}

BOOST_AUTO_TEST_CASE(a_write_is_repeated_until_the_timeout_and_not_longer) {
    BOOST_TEST(must(repeat_write(clock, retry(10s), [&] { return write_at(10s); })) == 7);
    BOOST_TEST(calls == 11);
    BOOST_TEST(first_failures == 1);
    auto const error = must_fail(repeat_write(clock, retry(10s), [&] { return write_at(20001ms); }));
    BOOST_TEST((error == full));
    BOOST_TEST((clock.steady_now().time_since_epoch() == 20s));
}

BOOST_AUTO_TEST_CASE(the_last_pause_ends_with_the_timeout) {
    must_fail(repeat_write(clock, retry(1500ms), [&] { return write_at(1h); }));
    BOOST_TEST((clock.steady_now().time_since_epoch() == 1500ms));
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(without_a_timeout_a_write_is_called_once) {
    must_fail(repeat_write(clock, retry(0s), [&] { return write_at(1h); }));
    BOOST_TEST(calls == 1);
    BOOST_TEST(first_failures == 0);
}

BOOST_AUTO_TEST_CASE(an_error_that_remains_is_returned_at_once) {
    auto const refuse = [&]() -> Status {
        if (++calls == 1) return full;
        return Error{codes::permission, "cannot write: Permission denied"};
    };
    BOOST_TEST((must_fail(repeat_write(clock, retry(10s), refuse)).code == codes::permission));
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(a_caller_can_give_up_between_two_attempts) {
    auto limited = retry(10s);
    limited.is_given_up = [&] { return calls == 3; };
    must_fail(repeat_write(clock, limited, [&] { return write_at(1h); }));
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_SUITE_END()
