// `checkpoint list`: another name of `experiment list-checkpoints`, for users who look for it in this group.
#include "command.hpp"

namespace det::cli {

std::unique_ptr<Command> make_checkpoint_list() { return make_experiment_list_checkpoints(); }

}  // namespace det::cli
