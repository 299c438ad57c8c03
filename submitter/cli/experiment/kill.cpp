#include "experiment/end_experiment.hpp"

namespace det::cli {

std::unique_ptr<Command> make_experiment_kill() {
    return std::make_unique<EndExperiment>(DesiredState::kill);
}

}  // namespace det::cli
