#include "experiment/end_experiment.hpp"

namespace det::cli {

std::unique_ptr<Command> make_experiment_kill() { return std::make_unique<EndExperiment>(Desired::kill); }

}  // namespace det::cli
