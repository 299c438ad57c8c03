#include "dependencies.hpp"

#include <det/journal/dependencies.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

using journal::DependencyState;

enum class Needs { good_end, any_end };

Status check(ExperimentSpec const& spec, char const* key, Needs needs, StartPermission& permission) {
    Json::json_pointer const list(key);
    if (!spec.config->contains(list) || !spec.config->at(list).is_array()) return Ok{};
    for (auto const& item : spec.config->at(list)) {
        auto const dependency =
            journal::parse_dependency(item.is_string() ? item.get<std::string>() : to_line(item));
        if (!dependency) continue;  // `experiment create` refuses such a value
        auto const what = journal::describe(*dependency);
        auto const state = journal::load_dependency_state(RootLayout(spec.root), *dependency);
        bool const is_gone = !state && state.error().code.exit == ExitCode::absent;
        if (!state && !is_gone) return state.error();
        if (state && *state == DependencyState::open) permission.waits_for = what;
        if (needs == Needs::any_end) continue;
        if (is_gone) permission.refusal = fmt::format("{}, after which it was to start, was deleted", what);
        if (state && *state == DependencyState::ended_badly)
            permission.refusal = fmt::format("{}, after which it was to start, did not end well", what);
    }
    return Ok{};
}

}  // namespace

Result<StartPermission> check_dependencies(ExperimentSpec const& spec) {
    StartPermission permission;
    DET_TRY(check(spec, "/slurm/after", Needs::good_end, permission));
    DET_TRY(check(spec, "/slurm/after_any", Needs::any_end, permission));
    return permission;
}

}  // namespace det::launch::supervisor
