#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace det::command_line {

enum class Need { optional, required };

/// A row of an option table: how the option is written, and the variable that takes its value. A name without
/// dashes is a positional argument.
struct Option {
    using Target =
        std::variant<bool*, int*, double*, std::string*, std::optional<int>*, std::optional<std::uint32_t>*,
                     std::optional<std::string>*, std::vector<std::string>*, std::vector<std::uint32_t>*>;
    std::string names;  // "-f,--follow", "config"
    Target target;
    std::string help = {};
    Need need = Need::optional;
    std::vector<std::string> choices = {};                   // the accepted words; empty: all
    std::optional<std::pair<int, int>> accepted_range = {};  // limits of a number, both ends included
};

/// `all`: every word must be an option or argument of the table. `leading`: parsing stops at the first other
/// word.
enum class Words { all, leading };

struct Parsed {
    bool asks_for_help = false;          // -h or --help was given; required options were not checked
    std::vector<std::string> remaining;  // with Words::leading: the first other word and all words after it
};

/// Sets the targets of the options that `arguments` holds. codes::usage if a word is unknown (the hint names
/// the most similar option, if there is one), a value is malformed or something required is missing. An
/// option with a std::vector target takes one word each time that it is given; a positional argument with
/// such a target takes any number of words.
Result<Parsed> parse(std::vector<Option> const& options, std::vector<std::string> arguments,
                     Words words = Words::all);

/// The index of the first word that is neither an option nor its value: the first positional argument.
/// Nothing if there is none. A word that looks like an option and is not in the table is skipped. Pure.
std::optional<std::size_t> find_first_argument(std::vector<Option> const& options,
                                               std::vector<std::string> const& arguments);

/// One line for each option: names, help, and the present value of an int or std::string target.
std::string render_options(std::vector<Option> const& options);

}  // namespace det::command_line
