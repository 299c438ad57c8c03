#pragma once
#include <sys/types.h>

namespace det::launch::supervisor {

/// The process that has started the batch script: the parent of det-batch, or of this process if no det-batch
/// runs it. It changes when that process ends.
/// \param batch_process of det-batch; 0: there is none
pid_t find_batch_parent(pid_t batch_process);

}  // namespace det::launch::supervisor
