#include "value_kind.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::cli {
namespace {

/// What the option or argument of this name takes, in the commands of a group or in a command without a
/// group; an empty group: in all.
struct ValueRow {
    std::string_view group, name;
    ValueKind kind;
};
constexpr ValueRow value_rows[] = {
    {"", "--template", ValueKind::template_name},
    {"", "--config", ValueKind::config_key},
    {"", "--metric", ValueKind::metric},
    {"", "--sort-by", ValueKind::metric},
    {"", "--resource-pool", ValueKind::pool},
    {"resource-pool", "pool", ValueKind::pool},
    {"experiment", "id", ValueKind::experiment},
    {"tensorboard", "id", ValueKind::experiment},
    {"search", "config", ValueKind::file_or_experiment},
    {"trial", "id", ValueKind::trial},
    {"task", "id", ValueKind::trial},
    {"", "--trial-ids", ValueKind::trial},
    {"tracker", "id", ValueKind::trial},
    {"checkpoint", "id", ValueKind::experiment},
    {"template", "name", ValueKind::template_name},
    {"checkpoint", "uuid", ValueKind::checkpoint},
    {"checkpoint", "uuids", ValueKind::checkpoint},
    {"model", "model", ValueKind::model},
    {"model", "uuid", ValueKind::checkpoint},
};

}  // namespace

bool has_name(Option const& option, std::string_view name) {
    auto const names = split(option.names, ',');
    return std::ranges::find(names, name) != names.end();
}

ValueKind kind_of(CommandEntry const& command, Option const& option) {
    for (auto const& row : value_rows) {
        bool const is_here = row.group.empty() || row.group == command.group ||
                             (command.group.empty() && row.group == command.name);
        if (is_here && has_name(option, row.name)) return row.kind;
    }
    return ValueKind::file;
}

}  // namespace det::cli
