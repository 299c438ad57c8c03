#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;

std::unique_ptr<Command> make_experiment_set_description() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"description", changes::set_description, nullptr, "Set description of"});
}

}  // namespace det::cli
