// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#include "on_node.hpp"

#include <det/protocol/task_identity.hpp>

namespace det::spank {
namespace {

/// Slurm numbers its own steps (batch, extern, interactive) from here on.
constexpr std::uint32_t first_special_step = 0xfffffff0;
constexpr std::string_view wrapper_key = "wrapper=";

}  // namespace

Result<Settings> parse_settings(std::vector<std::string_view> const& arguments) {
    Settings settings;
    for (auto const argument : arguments) {
        if (!argument.starts_with(wrapper_key)) {
            return Error{codes::usage, "unknown argument '" + std::string(argument) + "' in plugstack.conf",
                         "wrapper=/path/to/det-wrap-rank is the only one"};
        }
        settings.wrapper = argument.substr(wrapper_key.size());
        if (!settings.wrapper.starts_with('/')) {
            return Error{codes::usage,
                         "'" + settings.wrapper + "' in plugstack.conf is not an absolute path"};
        }
    }
    return settings;
}

Status on_task_init(Host const& host, Settings const& settings) {
    auto const step = host.step_id();
    if (!step || *step >= first_special_step) return Ok{};
    if (host.find_variable(variables::spank) != "auto") return Ok{};
    DET_TRY_ASSIGN(auto const task,
                   identify_task([&](std::string_view name) { return host.find_variable(name); }));
    if (host.find_variable(variables::launch) == "rank") {
        for (auto const& [name, value] : rank_variables(task)) DET_TRY(host.set_variable(name, value));
    }
    if (settings.wrapper.empty()) return Ok{};
    return host.put_in_front(settings.wrapper);
}

}  // namespace det::spank
