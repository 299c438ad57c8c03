#include <det/protocol/grace_period.hpp>

#include <algorithm>

namespace det {

std::chrono::milliseconds grace_margin(std::chrono::milliseconds grace) {
    using namespace std::chrono_literals;
    return std::min(std::clamp<std::chrono::milliseconds>(grace / 10, 3s, 15s), grace / 2);
}

}  // namespace det
