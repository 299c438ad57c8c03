#pragma once
#include <det/protocol/array_job.hpp>

#include "creation.hpp"
#include "session.hpp"

namespace det::cli {

/// The job arrays that its plan comes to; Slurm has none of them yet.
std::vector<ArrayJob> planned_arrays(Creation const& creation);

/// The script as it would be submitted; the id need not be known yet.
Result<std::string> preview_script(Creation const& creation, ExperimentId id = {});

/// Whether Slurm would take it, and when it would start, local time, as far as Slurm says.
Result<std::string> ask_slurm_first(Creation const& creation, Session& session);

/// Code that is stored already: codes::no_such_file where it is gone.
Result<std::optional<ContextSpec>> find_stored_code(Creation const& creation);

/// The configuration as it was written and as it runs, and its secrets.
Status write_configuration(Creation const& creation, ExperimentLayout const& layout);

/// Writes scripts and submits them, held: all arrays or none. What Slurm has already when one is refused is
/// taken back.
Result<std::vector<ArrayJob>> submit_arrays(Creation const& creation, ExperimentLayout const& layout,
                                            ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                                            Session& session);

/// "12, 13"
std::string list_jobs(std::vector<ArrayJob> const& arrays);

}  // namespace det::cli
