#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;
namespace {

using tracker::history::Attributes;

Status check_over(Attributes const&, lifecycle::State state, std::string const&) {
    if (lifecycle::is_terminal(state)) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("it is {}: only an experiment that has ended can be archived", to_string(state)),
                 "end it first with 'det-submit experiment cancel' or 'kill'"};
}

}  // namespace

std::unique_ptr<Command> make_experiment_archive() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"", [](auto const&) { return changes::archive(); }, check_over, "Archived"});
}

}  // namespace det::cli
