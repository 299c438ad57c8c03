#include <fmt/format.h>

#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;
namespace {

using tracker::history::Attributes;

Status check_named(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a name has at least one character"};
}

}  // namespace

std::unique_ptr<Command> make_experiment_set_name() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"name", changes::set_name, check_named, "Set name of"});
}

}  // namespace det::cli
