#include <fmt/format.h>

#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;
namespace {

using tracker::history::Attributes;

Status check_label(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a label has at least one character"};
}

}  // namespace

std::unique_ptr<Command> make_experiment_label_add() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"label", changes::add_label, check_label, "Labelled"});
}

}  // namespace det::cli
