#pragma once
#include <det/launch/supervisor/claims.hpp>

#include <chrono>
#include <list>
#include <sys/types.h>

#include "lane.hpp"

namespace det::launch::supervisor {

/// A job whose runs have all ended, or as good as ended.
struct JobEnd {
    bool has_begun = false;            // a run
    bool was_noticed = false;          // Slurm's TERM came
    bool was_completing = false;       // Slurm was ending the job when we last looked
    pid_t slurmstepd = 0;              // our parent when we began
    std::chrono::seconds patience{0};  // with Slurm
};

/// What the verdicts on the lanes' runs want of the job, the most urgent first: it goes back to Slurm's
/// queue, is held there, or ends. The exit code of what went wrong with that; 0 where nothing did.
int conclude(Assignment const& assignment, Surroundings const& around, Claims& claims, std::list<Lane>& lanes,
             JobEnd const& end);

}  // namespace det::launch::supervisor
