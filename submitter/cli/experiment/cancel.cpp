#include "experiment/end_experiment.hpp"

namespace det::cli {

std::unique_ptr<Command> make_experiment_cancel() { return std::make_unique<EndExperiment>(Desired::cancel); }

}  // namespace det::cli
