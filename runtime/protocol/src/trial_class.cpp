#include <det/protocol/trial_class.hpp>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

namespace det {
namespace {

using Words = std::span<std::string const>;

constexpr std::string_view trial_option = "--trial";

bool is_word(std::string_view text, std::string_view also) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.find(c) != std::string_view::npos;
    });
}

/// The arguments after the name of the launcher in a command; empty if it has no launcher.
Words launcher_arguments(Words command) {
    for (std::size_t i = 0; i < command.size(); ++i) {
        std::string_view const word = command[i];
        bool const is_program = word == "det-launch" || word.ends_with("/det-launch");
        if (is_program) return command.subspan(std::min(i + 2, command.size()));  // after the launcher's name
        if (word.starts_with("determined.launch.") || word == "determined.exec.harness") {
            return command.subspan(i + 1);
        }
    }
    return {};
}

/// The part after a launcher's options in `[--autohorovod] [[OPTION...] --] (--trial MODULE:CLASS | COMMAND...)`.
Words without_options(Words arguments) {
    if (!arguments.empty() && arguments[0] == "--autohorovod") arguments = arguments.subspan(1);
    bool const has_options =
        !arguments.empty() && arguments[0].starts_with('-') && !arguments[0].starts_with(trial_option);
    if (!has_options) return arguments;
    auto const separator = std::ranges::find(arguments, "--");
    if (separator == arguments.end()) return {};
    return {separator + 1, arguments.end()};
}

/// Splits all arguments of an entrypoint at white space, also the script in `[bash, -c, SCRIPT]`.
std::vector<std::string> words_of(std::span<std::string const> entrypoint) {
    std::vector<std::string> words;
    for (auto const& item : entrypoint) {
        std::istringstream stream(item);
        words.insert(words.end(), std::istream_iterator<std::string>(stream), {});
    }
    return words;
}

}  // namespace

bool is_trial_class(std::string_view entrypoint) {
    auto const colon = entrypoint.find(':');
    return colon != std::string_view::npos && is_word(entrypoint.substr(0, colon), "_.") &&
           is_word(entrypoint.substr(colon + 1), "_");
}

bool launches_trial_class(std::span<std::string const> command) {
    auto const rest = without_options(launcher_arguments(command));
    if (rest.empty()) return false;
    return rest[0] == trial_option || rest[0].starts_with("--trial=") || is_trial_class(rest[0]);
}

TrialClassLaunch find_trial_class_launch(std::span<std::string const> entrypoint) {
    if (entrypoint.size() == 1 && is_trial_class(entrypoint.front())) return TrialClassLaunch::by_name;
    auto const words = words_of(entrypoint);
    if (!launches_trial_class(words)) return TrialClassLaunch::none;
    auto const is_deepspeed = [](std::string_view word) {
        return word == "deepspeed" || word == "determined.launch.deepspeed";
    };
    return std::ranges::any_of(words, is_deepspeed) ? TrialClassLaunch::by_deepspeed
                                                    : TrialClassLaunch::by_launcher;
}

}  // namespace det
