#include "slurm_errors.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::slurm {
namespace {

constexpr std::string_view unreachable_messages[] = {
    "Unable to contact slurm controller",
    "Connection refused",
    "Connection timed out",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Insane message length",
    "Unable to establish configuration",
    "Unable to process configuration",
    "Could not establish a configuration",
    "Protocol authentication error",
    "No route to host",
    "Communication connection failure",
    "Communication shutdown failure",
    "Message send failure",
    "Message receive failure",
    "Transport endpoint is not connected",
    "cannot stat file",
};

}  // namespace

bool says_unreachable(std::string_view text) {
    return std::any_of(std::begin(unreachable_messages), std::end(unreachable_messages),
                       [&](auto message) { return text.find(message) != std::string_view::npos; });
}

Error unreachable(std::string_view source, std::string_view message) {
    Error error{
        codes::slurm_unreachable, "Slurm does not answer",
        "check that 'sinfo' works here: slurmctld may be down, or SLURM_CONF may name the wrong file"};
    if (!trim(message).empty()) error.notes.push_back(fmt::format("{} said: {}", source, trim(message)));
    return error;
}

Error failure(std::string_view source, std::string_view message) {
    if (says_unreachable(message)) return unreachable(source, message);
    return Error{codes::slurm_refused, fmt::format("Slurm refused '{}'", source)}.noting(
        fmt::format("{} said: {}", source, trim(message)));
}

}  // namespace det::slurm
