#include "wait_for_input_end.hpp"

#include <det/foundation/polling.hpp>

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace det::launch {

InputWait wait_for_input_end(std::chrono::steady_clock::time_point time, int input, Clock const& clock) {
    for (;;) {
        auto const now = clock.steady_now();
        if (now >= time) return InputWait::time_is_over;
        pollfd polled{input, POLLIN, 0};
        if (::poll(&polled, 1, poll_timeout_ms(time, now)) <= 0) continue;
        char ignored[64];
        auto const size = ::read(input, ignored, sizeof ignored);
        if (size == 0 || (size < 0 && errno != EINTR)) return InputWait::input_has_ended;
    }
}

}  // namespace det::launch
