#include <det/foundation/text.hpp>
#include <det/launch/wrap_rank/arguments.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>

namespace det::launch::wrap_rank {
namespace {

constexpr std::string_view usage_hint =
    "det-wrap-rank RANK [--] CMD...  or  det-wrap-rank --node [--] CMD...  (RANK: a number, or names of "
    "variables)";

Error usage(std::string message) { return Error{codes::usage, std::move(message), std::string(usage_hint)}; }

/// "007" is rank 7.
std::optional<std::string> parse_rank(std::string_view text) {
    auto const number = parse_integer<std::uint32_t>(text);
    if (!number) return std::nullopt;
    return std::to_string(*number);
}

Result<std::string> find_rank(std::string const& given, Environment const& environment) {
    if (auto rank = parse_rank(given)) return *std::move(rank);
    for (auto const name : split(given, ',')) {
        auto const value = environment.find(name);
        if (!value) continue;
        if (auto rank = parse_rank(*value)) return *std::move(rank);
        return usage(fmt::format("{}='{}' is not a rank", name, *value));
    }
    return Error{
        codes::misuse,
        fmt::format("rank environment variable is set to {}, but it is not in the environment", given),
        std::string(usage_hint)};
}

/// The SPANK plugin has prepended the wrapper to the command; the rank is in SLURM_PROCID.
Result<WrapRequest> parse_plugin_call(std::vector<std::string> command, Environment const& environment) {
    WrapRequest request;
    request.level = parse_launch(environment.find(variables::launch).value_or("rank")).value_or(Launch::rank);
    if (request.level == Launch::rank) {
        DET_TRY_ASSIGN(request.rank, find_rank("SLURM_PROCID", environment));
    }
    request.command = std::move(command);
    return request;
}

}  // namespace

Result<WrapRequest> parse_arguments(std::vector<std::string> const& arguments,
                                    Environment const& environment) {
    if (auto const program = environment.find_non_empty(variables::wrapped_command)) {
        std::vector<std::string> command{*program};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return parse_plugin_call(std::move(command), environment);
    }
    if (arguments.size() < 2) return usage("det-wrap-rank needs a rank and a command");
    if (arguments[0] == "--spank")
        return parse_plugin_call({arguments.begin() + 1, arguments.end()}, environment);
    // "--" may precede the command, as in launchers' own wrappers.
    auto const skipped = arguments[1] == "--" ? 2 : 1;
    if (arguments.size() == static_cast<std::size_t>(skipped)) return usage("det-wrap-rank needs a command");
    WrapRequest request;
    request.command.assign(arguments.begin() + skipped, arguments.end());
    if (arguments[0] == "--node") {
        request.level = Launch::node;
        return request;
    }
    DET_TRY_ASSIGN(request.rank, find_rank(arguments[0], environment));
    return request;
}

}  // namespace det::launch::wrap_rank
