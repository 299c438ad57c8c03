#include <det/protocol/json.hpp>

#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;

std::unique_ptr<Command> make_experiment_unarchive() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"", [](auto const&) { return changes::unarchive(); }, nullptr, "Unarchived"});
}

}  // namespace det::cli
