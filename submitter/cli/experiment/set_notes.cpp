#include "experiment/change_attributes.hpp"

namespace det::cli {
namespace changes = tracker::history::changes;

std::unique_ptr<Command> make_experiment_set_notes() {
    return std::make_unique<ChangeAttribute>(
        AttributeChange{"notes", changes::set_notes, nullptr, "Set notes of"});
}

}  // namespace det::cli
