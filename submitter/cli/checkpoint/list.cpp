// `experiment list-checkpoints`, by the name that is looked for here.
#include "command.hpp"

namespace det::cli {

std::unique_ptr<Command> make_checkpoint_list() { return make_experiment_list_checkpoints(); }

}  // namespace det::cli
