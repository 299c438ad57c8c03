#pragma once
#include <det/experiment/submission_request.hpp>

#include <string>
#include <vector>

#include "command.hpp"

namespace det::cli {

/// Runs `experiment create --host`: reads the configuration and packs the code here, starts det-submit on the
/// login node by ssh (or by the command in DET_SSH), and sends both to its standard input. The output of
/// det-submit there goes to the standard output and error of this process.
/// \param options The options for det-submit there.
/// \return The exit code of det-submit there; codes::process if ssh fails or the host has no det-submit.
Outcome create_on_host(std::string const& host, experiment::SubmissionOptions const& submission,
                       std::vector<std::string> const& options, Session& session);

/// The command line that starts det-submit on the host, as words for ssh. Pure.
std::vector<std::string> remote_command(std::vector<std::string> const& ssh, std::string const& host,
                                        std::vector<std::string> const& options);

}  // namespace det::cli
