#include <det/core/place.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
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

/// How launchers say who a rank is.
struct Dialect {
    std::string_view marker;  // set beside `rank` by this one, and by none of those behind it
    std::string_view rank, size, local_rank, local_size;
    std::string_view cross_rank, cross_size;  // empty: not said
    bool numbers_nodes = true;                // else the run does it better, where there is one
};
constexpr Dialect dialects[] = {
    // Under mpirun a batch job's RANK, if there is one, is that of the launcher. srun --mpi=pmix sets none of
    // its variables, so that a RANK beside them belongs to somebody else.
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "", "", false},
    // The mpirun of MPICH and Intel MPI. srun --mpi=pmi2 sets PMI_RANK too, and neither of the others.
    {"MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "", false},
    // horovodrun without MPI. It counts nodes that have a rank of this local rank: fewer where they differ.
    {"HOROVOD_RANK", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
     "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", false},
    {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
     "GROUP_WORLD_SIZE"},
    // deepspeed; and ranks of srun, which have both.
    {"LOCAL_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"},
    {"RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"},
};

Dialect const* find_dialect(Environment const& environment) {
    auto const* const found = std::ranges::find_if(dialects, [&](Dialect const& each) {
        return environment.find(each.marker) && environment.find(each.rank);
    });
    return found == std::end(dialects) ? nullptr : found;
}

Result<Place> read_place(Dialect const& dialect, Environment const& environment,
                         std::optional<Info> const& info) {
    Place place;
    auto& topology = place.topology;
    DET_TRY_ASSIGN(place.rank, require_number(environment, dialect.rank));
    DET_TRY_ASSIGN(place.size, require_number(environment, dialect.size));
    DET_TRY_ASSIGN(topology.local_rank, require_number(environment, dialect.local_rank));
    DET_TRY_ASSIGN(topology.local_size, require_number(environment, dialect.local_size));
    if (info && !dialect.numbers_nodes) {
        DET_TRY_ASSIGN(auto const nodes, expand_counts(info->rendezvous.slot_counts));
        topology.cross_rank = info->rendezvous.container_rank;
        topology.cross_size = static_cast<int>(nodes.size());
    } else if (!dialect.cross_rank.empty()) {
        DET_TRY_ASSIGN(topology.cross_rank, require_number(environment, dialect.cross_rank));
        DET_TRY_ASSIGN(topology.cross_size, require_number(environment, dialect.cross_size));
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
    auto const* const dialect = find_dialect(environment);
    if (dialect == nullptr) return Place{};
    DET_TRY_ASSIGN(auto const place, read_place(*dialect, environment, info));
    return check_numbers(place);
}

}  // namespace det::core
