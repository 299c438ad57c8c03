#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// Routes that answer with the JSON of a det-submit command. `services` answers those that ask Slurm or a
/// storage of checkpoints.
void add_command_routes(Routes& routes, Sources& sources, ServiceThread& services);

/// What a command of det-submit printed with --json.
struct CommandOutput {
    Json answer;
    std::string messages;  // warnings and comments
};

/// From where a command reads the records of experiments.
enum class Records { index, journals };

/// Runs a command of det-submit in this process.
/// \param arguments its command line without the name of the program, with --json
/// \param input its standard input
Result<CommandOutput, Diagnostics> run_det_submit(std::vector<std::string> const& arguments,
                                                  std::string const& input, Records records, Sources& sources,
                                                  slurm::SlurmClient& slurm);

/// The first error, for clients that get one.
Error first_error(Diagnostics const& problems);

}  // namespace det::tracker::api
