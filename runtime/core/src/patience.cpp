#include "patience.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <unistd.h>

namespace det::core {

void write_line(std::string const& line) {
    (void)write_all(STDERR_FILENO, "det: " + line + "\n", "standard error");
}

std::function<void(std::string const&)> warner_of(ContextOptions const& options) {
    if (options.on_warning) return options.on_warning;
    return [](std::string const& text) { write_line("warning: " + text); };
}

Result<Patience> find_patience(ContextOptions const& options) {
    Patience patience;
    patience.warn = warner_of(options);
    auto const text = options.environment.find_non_empty("DET_COLLECTIVE_TIMEOUT_S");
    if (!text) return patience;
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds <= 0) {
        return Error{codes::misuse,
                     fmt::format("DET_COLLECTIVE_TIMEOUT_S='{}' is no number of seconds", *text)};
    }
    patience.timeout = std::chrono::seconds(*seconds);
    return patience;
}

}  // namespace det::core
