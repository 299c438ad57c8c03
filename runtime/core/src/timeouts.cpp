#include "timeouts.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <unistd.h>

namespace det::core {

void write_line(std::string const& line) {
    (void)write_all(STDERR_FILENO, "det: " + line + "\n", "standard error");
}

std::function<void(std::string const&)> warning_handler(ContextOptions const& options) {
    if (options.on_warning) return options.on_warning;
    return [](std::string const& text) { write_line("warning: " + text); };
}

Result<Timeouts> find_timeouts(ContextOptions const& options) {
    Timeouts timeouts;
    timeouts.warn = warning_handler(options);
    auto const text = options.environment.find_non_empty("DET_COLLECTIVE_TIMEOUT_S");
    if (!text) return timeouts;
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds <= 0) {
        return Error{codes::misuse,
                     fmt::format("DET_COLLECTIVE_TIMEOUT_S='{}' is no number of seconds", *text)};
    }
    timeouts.timeout = std::chrono::seconds(*seconds);
    return timeouts;
}

}  // namespace det::core
