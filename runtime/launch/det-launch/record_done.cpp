#include "record_done.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/task_identity.hpp>

namespace det::launch {

Status record_done(Environment const& environment) {
    auto const file = environment.find_non_empty(variables::done_file);
    if (!file) {
        return Error{codes::usage,
                     "'det-launch done' is for the program of a trial, where DET_DONE_FILE is set",
                     "call it in the entrypoint of an experiment"};
    }
    return write_file(*file, "");
}

}  // namespace det::launch
