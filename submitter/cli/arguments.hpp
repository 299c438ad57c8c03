#pragma once
#include "command.hpp"

namespace det::cli {

/// What a command line asks for: a command, or a text to print.
struct Invocation {
    std::unique_ptr<Command> command;  // null: print `text`
    Format format = Format::text;
    std::string text = {};
};

/// codes::usage where it asks for nothing that there is; the hint is the nearest that there is.
Result<Invocation> parse_command_line(std::vector<std::string> const& arguments);

}  // namespace det::cli
