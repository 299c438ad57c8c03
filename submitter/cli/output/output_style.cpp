#include "output/output_style.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <cstdint>
#include <sys/ioctl.h>
#include <unistd.h>

namespace det::cli {
namespace {

constexpr std::size_t columns_min = 40, columns_max = 500;

std::size_t find_width(Environment const& environment, Destination destination) {
    std::size_t width = OutputStyle{}.columns;
    auto const wanted = parse_integer<std::uint32_t>(environment.find("COLUMNS").value_or(""));
    ::winsize size{};
    if (wanted && *wanted > 0) {
        width = *wanted;
    } else if (destination == Destination::terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
               size.ws_col > 0) {
        width = size.ws_col;
    }
    return std::clamp(width, columns_min, columns_max);
}

/// As setlocale(3) finds the character set: the first of the three that is set.
bool has_unicode(Environment const& environment) {
    for (auto const* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        auto const locale = environment.find_non_empty(name);
        if (!locale) continue;
        for (auto const* charset : {"UTF-8", "utf8", "UTF8", "utf-8"}) {
            if (locale->find(charset) != std::string::npos) return true;
        }
        return false;
    }
    return false;
}

}  // namespace

OutputStyle output_style_of(Environment const& environment, Destination destination) {
    bool const has_colour = destination == Destination::terminal &&
                            environment.find("TERM").value_or("dumb") != "dumb" &&
                            !environment.find_non_empty("NO_COLOR");
    return {find_width(environment, destination), has_colour, has_unicode(environment)};
}

}  // namespace det::cli
