#include <det/foundation/polling.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

using namespace det;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_poll_timeout_is_rounded_up_and_never_negative) {
    auto const now = std::chrono::steady_clock::now();
    BOOST_TEST(poll_timeout_ms(now + 1500us, now) == 2);
    BOOST_TEST(poll_timeout_ms(now - 1s, now) == 0);
    BOOST_TEST(poll_timeout_ms(std::nullopt, now) == -1);
}

BOOST_AUTO_TEST_CASE(signals_are_read_and_pending_ones_are_dropped_at_the_end) {
    {
        auto const signals = SignalReader::open(signal_set({SIGUSR1, SIGUSR2}));
        BOOST_REQUIRE(signals);
        ::raise(SIGUSR1);
        auto const first = signals->take();
        BOOST_REQUIRE(first.has_value());
        BOOST_TEST(first->ssi_signo == static_cast<unsigned>(SIGUSR1));
        BOOST_TEST(!signals->take());
        ::raise(SIGUSR2);  // stays pending; it would end this process when it is unblocked
    }
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    BOOST_TEST(::sigismember(&after, SIGUSR2) == 0);
}

BOOST_AUTO_TEST_CASE(signals_that_can_not_be_watched_are_not_left_blocked) {
    rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit none = before;
    none.rlim_cur = 0;
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    bool const is_open = SignalReader::open(signal_set({SIGUSR2})).has_value();
    ::setrlimit(RLIMIT_NOFILE, &before);
    BOOST_TEST(!is_open);
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    BOOST_TEST(::sigismember(&after, SIGUSR2) == 0);
}
