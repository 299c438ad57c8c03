#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>
#include <det/slurm/client.hpp>

#include <string>

namespace det::successor {

/// Tasks of an experiment that are to be run by another job: the one they had is gone, or Slurm does not
/// queue it again.
struct Heirs {
    ArrayJob array;                   // theirs before; array.tasks are those that are meant
    std::string excluded_nodes = {};  // in place of those of the creation; empty: the same
};

/// Who asks for it, and where.
struct Author {
    std::string name;         // user@host
    Environment environment;  // becomes the job's; what Slurm had set in it does not
    Clock& clock;
};

/// Submits the same script with the same options for these tasks alone, held, and records that: from then on
/// trials are known to be theirs. To be released by the caller. The array that it made.
Result<ArrayJob> submit_successor(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                  Heirs const& heirs, Author const& author, slurm::SlurmClient& slurm);

}  // namespace det::successor
