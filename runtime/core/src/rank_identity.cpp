#include <det/core/rank_identity.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/launcher_environment.hpp>

#include <fmt/format.h>

namespace det::core {
namespace {

Result<int> require_number(Environment const& environment, std::string_view name) {
    auto const text = environment.find_non_empty(name);
    auto const number = text ? parse_integer<int>(*text) : std::nullopt;
    if (number && *number >= 0) return *number;
    return Error{codes::misuse,
                 text ? fmt::format("{}='{}' is not a number", name, *text)
                      : fmt::format("{} is not set, though this is one of several ranks", name)};
}

Result<RankIdentity> read_identity(LauncherEnvironment const& launcher, Environment const& environment,
                                   std::optional<Info> const& info) {
    RankIdentity identity;
    auto& topology = identity.topology;
    DET_TRY_ASSIGN(identity.rank, require_number(environment, launcher.rank));
    DET_TRY_ASSIGN(identity.size, require_number(environment, launcher.size));
    // A single rank may have only RANK=0 and WORLD_SIZE=1: torch needs no more, and users set them by hand.
    auto const read = [&](std::string_view name, int of_single_rank) {
        bool const is_implied = identity.size == 1 && !environment.find_non_empty(name);
        return is_implied ? Result<int>(of_single_rank) : require_number(environment, name);
    };
    DET_TRY_ASSIGN(topology.local_rank, read(launcher.local_rank, 0));
    DET_TRY_ASSIGN(topology.local_size, read(launcher.local_size, 1));
    if (info && !launcher.numbers_nodes) {
        DET_TRY_ASSIGN(auto const nodes, expand_counts(info->rendezvous.slot_counts));
        topology.cross_rank = info->rendezvous.container_rank;
        topology.cross_size = static_cast<int>(nodes.size());
    } else if (!launcher.cross_rank.empty()) {
        DET_TRY_ASSIGN(topology.cross_rank, read(launcher.cross_rank, 0));
        DET_TRY_ASSIGN(topology.cross_size, read(launcher.cross_size, 1));
    }
    return identity;
}

Result<RankIdentity> check_numbers(RankIdentity const& identity) {
    auto const& [local_rank, local_size, cross_rank, cross_size] = identity.topology;
    if (identity.rank < identity.size && local_rank < local_size && cross_rank < cross_size) return identity;
    return Error{codes::misuse,
                 fmt::format("the environment says rank {} of {}, local rank {} of {} on node {} of {}: "
                             "that can't be",
                             identity.rank, identity.size, local_rank, local_size, cross_rank, cross_size)};
}

}  // namespace

Result<RankIdentity> find_rank_identity(Environment const& environment, std::optional<Info> const& info) {
    auto const* const launcher =
        find_launcher_environment([&](std::string_view name) { return environment.find(name); });
    if (launcher == nullptr) return RankIdentity{};
    DET_TRY_ASSIGN(auto const identity, read_identity(*launcher, environment, info));
    return check_numbers(identity);
}

}  // namespace det::core
