// The only file that includes CLI11, which takes 13 s to compile.
#include <det/command_line/options.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace det::command_line {
namespace {

/// Declares an option to CLI11 by the type of its target.
struct Declare {
    CLI::App& app;
    Option const& option;

    CLI::Option* operator()(bool* target) const { return app.add_flag(option.names, *target, option.help); }
    template <class T>
    CLI::Option* operator()(std::vector<T>* target) const {
        return app.add_option(option.names, *target, option.help)
            ->allow_extra_args(!option.names.starts_with('-'));
    }
    template <class T>
    CLI::Option* operator()(T* target) const {
        return app.add_option(option.names, *target, option.help);
    }
};

void declare(CLI::App& app, Option const& option) {
    auto* const declared = std::visit(Declare{app, option}, option.target);
    if (option.need == Need::required) declared->required();
    if (!option.choices.empty()) declared->check(CLI::IsMember(option.choices));
    if (auto const& range = option.accepted_range) declared->check(CLI::Range(range->first, range->second));
}

/// The value of a target as --help shows it; empty for all types but int and std::string.
struct DefaultText {
    std::string operator()(int const* value) const { return std::to_string(*value); }
    std::string operator()(std::string const* value) const { return *value; }
    template <class T>
    std::string operator()(T const*) const {
        return "";
    }
};

std::vector<std::string_view> long_names(std::vector<Option> const& options) {
    std::vector<std::string_view> names{"--help"};
    for (auto const& option : options) {
        for (auto const name : split(option.names, ',')) {
            if (name.starts_with("--")) names.push_back(name);
        }
    }
    return names;
}

/// \param unexpected the words that CLI11 could not assign; not empty
Error unexpected_word(std::vector<std::string> const& unexpected, std::vector<Option> const& options) {
    auto const unknown =
        std::ranges::find_if(unexpected, [](auto const& word) { return word.starts_with('-'); });
    if (unknown == unexpected.end())
        return Error{codes::usage, fmt::format("there is an argument too many: '{}'", unexpected.front())};
    auto const typed = unknown->substr(0, unknown->find('='));
    auto const near = nearest_word(typed, long_names(options));
    return Error{codes::usage, fmt::format("there is no option '{}'", typed),
                 near ? fmt::format("use '{}'", *near) : ""};
}

bool takes_value(std::vector<Option> const& options, std::string_view name) {
    return std::ranges::any_of(options, [&](auto const& option) {
        auto const names = split(option.names, ',');
        bool const is_flag = std::holds_alternative<bool*>(option.target);
        return !is_flag && std::ranges::find(names, name) != names.end();
    });
}

/// Whether the next word is the value of the option in this word: "--name", "-n", "-fn", but not "--name=x",
/// "-nx".
bool value_follows(std::vector<Option> const& options, std::string_view word) {
    if (word.starts_with("--")) return word.find('=') == std::string_view::npos && takes_value(options, word);
    for (std::size_t at = 1; at < word.size(); ++at) {
        if (takes_value(options, std::string("-") + word[at])) return at + 1 == word.size();
    }
    return false;
}

}  // namespace

std::optional<std::size_t> find_first_argument(std::vector<Option> const& options,
                                               std::vector<std::string> const& arguments) {
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        auto const& word = arguments[at];
        if (word == "--") return at + 1 < arguments.size() ? std::optional(at + 1) : std::nullopt;
        bool const is_option = word.size() > 1 && word.front() == '-';
        if (!is_option) return at;
        if (value_follows(options, word)) ++at;
    }
    return std::nullopt;
}

Result<Parsed> parse(std::vector<Option> const& options, std::vector<std::string> arguments, Words words) {
    CLI::App app;
    if (words == Words::leading) app.prefix_command();
    for (auto const& option : options) declare(app, option);
    try {
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last element first
        app.parse(std::move(arguments));
    } catch (CLI::CallForHelp const&) {
        return Parsed{true, {}};
    } catch (CLI::ExtrasError const&) {
        return unexpected_word(app.remaining(), options);
    } catch (CLI::ParseError const& error) {
        return Error{codes::usage, error.what()};
    }
    return Parsed{false, app.remaining()};
}

std::string render_options(std::vector<Option> const& options) {
    std::size_t width = 0;
    for (auto const& option : options) width = std::max(width, option.names.size());
    std::string text;
    for (auto const& option : options) {
        auto const value =
            std::visit([](auto const* target) { return DefaultText()(target); }, option.target);
        text += fmt::format("  {:<{}}  {}{}\n", option.names, width, option.help,
                            value.empty() ? "" : fmt::format(" [{}]", value));
    }
    return text;
}

}  // namespace det::command_line
