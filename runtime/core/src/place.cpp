#include <det/core/place.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

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

Result<Place> place_of_launcher(Environment const& environment) {
    Place place;
    DET_TRY_ASSIGN(place.rank, require_number(environment, "RANK"));
    DET_TRY_ASSIGN(place.size, require_number(environment, "WORLD_SIZE"));
    DET_TRY_ASSIGN(place.topology.local_rank, require_number(environment, "LOCAL_RANK"));
    DET_TRY_ASSIGN(place.topology.local_size, require_number(environment, "LOCAL_WORLD_SIZE"));
    DET_TRY_ASSIGN(place.topology.cross_rank, require_number(environment, "GROUP_RANK"));
    DET_TRY_ASSIGN(place.topology.cross_size, require_number(environment, "GROUP_WORLD_SIZE"));
    return place;
}

Result<Place> place_of_mpirun(Environment const& environment, std::optional<Info> const& info) {
    Place place;
    DET_TRY_ASSIGN(place.rank, require_number(environment, "OMPI_COMM_WORLD_RANK"));
    DET_TRY_ASSIGN(place.size, require_number(environment, "OMPI_COMM_WORLD_SIZE"));
    DET_TRY_ASSIGN(place.topology.local_rank, require_number(environment, "OMPI_COMM_WORLD_LOCAL_RANK"));
    DET_TRY_ASSIGN(place.topology.local_size, require_number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE"));
    if (info) {
        DET_TRY_ASSIGN(auto const nodes, expand_counts(info->rendezvous.slot_counts));
        place.topology.cross_rank = info->rendezvous.container_rank;
        place.topology.cross_size = static_cast<int>(nodes.size());
    }
    return place;
}

Result<Place> check_numbers(Place const& place) {
    auto const& [local_rank, local_size, cross_rank, cross_size] = place.topology;
    if (place.rank < place.size && local_rank < local_size && cross_rank < cross_size) return place;
    return Error{codes::misuse,
                 fmt::format("the environment says rank {} of {}, local rank {} of {} on node {} of {}: "
                             "that can't be",
                             place.rank, place.size, local_rank, local_size, cross_rank, cross_size)};
}

}  // namespace

Result<Place> find_place(Environment const& environment, std::optional<Info> const& info) {
    // mpirun first: under it a batch job's RANK, if there is one, is that of the launcher.
    // srun --mpi=pmix sets none of its variables, so that a RANK beside them belongs to somebody else.
    bool const by_mpirun = environment.find("OMPI_COMM_WORLD_RANK").has_value();
    if (!by_mpirun && !environment.find("RANK")) return Place{};
    DET_TRY_ASSIGN(auto const place,
                   by_mpirun ? place_of_mpirun(environment, info) : place_of_launcher(environment));
    return check_numbers(place);
}

}  // namespace det::core
