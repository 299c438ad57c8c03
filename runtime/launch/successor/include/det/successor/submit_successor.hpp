#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>
#include <det/slurm/client.hpp>

#include <filesystem>
#include <string>

namespace det::successor {

/// Tasks of an experiment that are to be run by another job: the one they had is gone, or Slurm does not
/// queue it again.
struct Heirs {
    ArrayJob array;                   // theirs; array.tasks are those that are meant, none are all
    std::string excluded_nodes = {};  // in place of those of the creation; empty: the same
};

/// Who asks for it, and where.
struct Author {
    std::string name;         // user@host
    Environment environment;  // becomes the job's; what Slurm had set in it does not
    Clock& clock;
};

/// Submits that script with the experiment's options for these tasks alone, held. The array that it made.
Result<ArrayJob> submit_tasks(std::filesystem::path const& script, ExperimentSpec const& spec,
                              Heirs const& heirs, Environment const& environment, slurm::SlurmClient& slurm);

/// Submits the same script with the same options for these tasks alone, held, and records that: from then on
/// trials are known to be theirs. To be released by the caller. The array that it made.
Result<ArrayJob> submit_successor(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                  Heirs const& heirs, Author const& author, slurm::SlurmClient& slurm);

}  // namespace det::successor
