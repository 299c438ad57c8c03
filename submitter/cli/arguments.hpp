#pragma once
#include "command.hpp"

namespace det::cli {

/// A parsed command line: a command to run, or a text to print.
struct Invocation {
    std::unique_ptr<Command> command;     // null: print `text`
    CommandEntry const* entry = nullptr;  // of the command
    Format format = Format::text;
    std::string text = {};
    Diagnostics warnings = {};             // about options before the command
    std::optional<std::string> root = {};  // the directory of --root
};

/// Parses the command line. A group without a command means its command `list`, if it has one. codes::usage
/// if a command is missing, or if a command or option is unknown; the hint names the most similar one.
Result<Invocation> parse_command_line(std::vector<std::string> const& arguments);

/// Runs the command, after the names of experiments in its arguments have been replaced by their ids
/// (experiment_names.hpp). An answer from a damaged journal has the exit code of the damage. codes::not_yours
/// if
/// --root names the root of another user and the command does not only read.
/// \pre the invocation has a command
Outcome run_command(Invocation& invocation, Session& session);

/// Of this build of det-submit: "0.1.0".
std::string_view program_version();

}  // namespace det::cli
