#include <fmt/format.h>

#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;
namespace {

using tracker::history::Attributes;

Status check_labelled(Attributes const& now, lifecycle::State, std::string const& value) {
    if (now.labels.contains(value)) return Ok{};
    return Error{codes::no_such_label, fmt::format("it has no label '{}'", value),
                 now.labels.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(now.labels, ", "))};
}

}  // namespace

std::unique_ptr<Command> make_experiment_label_remove() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"label", changes::remove_label, check_labelled, "Removed a label of"});
}

}  // namespace det::cli
