#pragma once
#include <string_view>

#include "command.hpp"

namespace det::cli {

/// What an option or an argument takes.
enum class ValueKind {
    file,
    template_name,
    experiment,
    trial,
    file_or_experiment,
    pool,
    checkpoint,
    model,
    config_key,
    metric
};

/// Whether `name` is one of the option's names: "-f" or "--follow" of "-f,--follow".
bool has_name(Option const& option, std::string_view name);

/// What this option of a command takes. ValueKind::file: nothing that det-submit knows by name.
/// config_key: KEY=VALUE.
ValueKind kind_of(CommandEntry const& command, Option const& option);

}  // namespace det::cli
