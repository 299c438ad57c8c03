#include "experiment/end_experiment.hpp"

namespace det::cli {

std::unique_ptr<Command> make_experiment_cancel() {
    return std::make_unique<EndExperiment>(DesiredState::cancel);
}

}  // namespace det::cli
