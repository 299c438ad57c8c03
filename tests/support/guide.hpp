#pragma once
#include <string>
#include <vector>

namespace det::test {

/// A command of a guide, in one or several lines, and the exit code that the guide gives for it.
struct GuideCommand {
    std::string text;
    int exit_code = 0;
};

/// A fenced block of a guide that a reader follows.
struct GuideBlock {
    enum class Kind {
        file,           // "`NAME`:" stands above it: NAME and its contents
        commands,       // ```sh: commands of a user
        root_commands,  // ```sh root: commands of an administrator
        output,         // ```text: lines that the commands above it print; `...` stands for any characters
        other,          // ```conf: not followed by the test
    };
    Kind kind = Kind::other;
    int line = 0;                             // of the fence, from 1
    std::string name = {};                    // of a file
    std::string text = {};                    // the lines between the fences
    std::vector<GuideCommand> commands = {};  // one for each line that begins in the first column
};

/// Returns the fenced blocks of a guide in their order.
/// \throw std::runtime_error a block has no end, or a block of a language that is a file has no name.
std::vector<GuideBlock> parse_guide(std::string const& markdown);

/// Returns the first line of an output block that no line of `output` matches; empty if there is none. White
/// space of any length is equal.
std::string find_missing_line(GuideBlock const& block, std::string const& output);

}  // namespace det::test
