#include <det/foundation/local_time.hpp>

namespace det {

std::tm to_local(UtcTime time) {
    auto const seconds = static_cast<std::time_t>(time.microseconds / 1'000'000);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return local;
}

std::string format_local(UtcTime time, char const* format) {
    auto const local = to_local(time);
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, format, &local));
}

}  // namespace det
