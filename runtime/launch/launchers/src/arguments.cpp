#include "arguments.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::launchers {
namespace {

constexpr std::string_view trial_option = "--trial";

Error usage(std::string_view launcher, std::string_view what) {
    return {codes::usage, fmt::format("det-launch {}: {}", launcher, what),
            fmt::format("det-launch {} [[OVERRIDE...] --] (--trial MODULE:CLASS | CMD...)", launcher)};
}

bool is_word(std::string_view text, std::string_view also) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.find(c) != std::string_view::npos;
    });
}

}  // namespace

bool is_trial_class(std::string_view entrypoint) {
    auto const colon = entrypoint.find(':');
    return colon != std::string_view::npos && is_word(entrypoint.substr(0, colon), "_.") &&
           is_word(entrypoint.substr(colon + 1), "_");
}

std::vector<std::string> trial_class_command(std::string const& trial_class) {
    return {"python3", "-m", "determined.exec.harness", trial_class};
}

Result<LauncherArguments> split_arguments(std::string_view launcher,
                                          std::vector<std::string> const& arguments) {
    LauncherArguments parts;
    auto rest = arguments.begin();
    bool const has_overrides =
        rest != arguments.end() && rest->starts_with('-') && !rest->starts_with(trial_option);
    if (has_overrides) {
        auto const separator = std::find(rest, arguments.end(), "--");
        if (separator == arguments.end()) {
            return usage(launcher, fmt::format("'{}' looks like an option, but no '--' follows", *rest));
        }
        parts.overrides.assign(rest, separator);
        rest = separator + 1;
    }
    parts.command.assign(rest, arguments.end());
    if (parts.command.empty()) return usage(launcher, "a command is missing");

    auto& command = parts.command;
    if (!command[0].starts_with(trial_option)) return parts;
    if (command[0].starts_with("--trial=")) {
        command.insert(command.begin() + 1, command[0].substr(trial_option.size() + 1));
    } else if (command[0] != trial_option) {
        return usage(launcher, fmt::format("unknown option '{}'", command[0]));
    }
    if (command.size() < 2 || !is_trial_class(command[1])) {
        return usage(launcher, "--trial takes MODULE:CLASS, for example model_def:MyTrial");
    }
    if (command.size() > 2) return usage(launcher, "--trial and a command exclude each other");
    command = trial_class_command(command[1]);
    return parts;
}

std::vector<std::string> watched_rank(Ground const& ground, std::string_view rank,
                                      std::vector<std::string> const& command) {
    std::vector<std::string> argv{ground.wrap_rank, std::string(rank), ground.det_launch, "worker"};
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
}

}  // namespace det::launchers
