#include <det/transport/mpi_collectives.hpp>

#include <fmt/format.h>
#include <limits>

#include "mpi_session.hpp"

namespace det::transport {
namespace {

MPI_Datatype to_mpi(MpiType type) {
    switch (type) {
        case MpiType::uint8:
            return MPI_UINT8_T;
        case MpiType::int32:
            return MPI_INT32_T;
        case MpiType::int64:
            return MPI_INT64_T;
        case MpiType::float32:
            return MPI_FLOAT;
        case MpiType::float64:
            break;
    }
    return MPI_DOUBLE;
}

Result<int> to_count(std::size_t count) {
    if (count <= std::numeric_limits<int>::max()) return static_cast<int>(count);
    return Error{codes::transport, fmt::format("MPI can't count {} elements", count)};
}

Status status_of(char const* what, int code) {
    return code == MPI_SUCCESS ? Status(Ok{}) : mpi_error(what, code);
}

void const* unless_in_place(void const* in, void const* out) { return in == out ? MPI_IN_PLACE : in; }

}  // namespace

struct MpiCollectives::Session {
    MpiSession mpi;
    Rank rank;
    int size;
};

MpiCollectives::MpiCollectives(std::unique_ptr<Session> session) : session_(std::move(session)) {}
MpiCollectives::MpiCollectives(MpiCollectives&&) noexcept = default;
MpiCollectives& MpiCollectives::operator=(MpiCollectives&&) noexcept = default;
MpiCollectives::~MpiCollectives() = default;

Result<MpiCollectives> MpiCollectives::open() {
    DET_TRY_ASSIGN(auto mpi, MpiSession::open(MpiThreads::one_at_a_time));
    DET_TRY_ASSIGN(int const rank, mpi.rank());
    DET_TRY_ASSIGN(int const size, mpi.size());
    return MpiCollectives(std::make_unique<Session>(Session{std::move(mpi), {rank}, size}));
}

Rank MpiCollectives::rank() const { return session_->rank; }
int MpiCollectives::size() const { return session_->size; }

Status MpiCollectives::allreduce(void const* in, void* out, std::size_t count, MpiType type) {
    DET_TRY_ASSIGN(int const n, to_count(count));
    return status_of("allreduce", MPI_Allreduce(unless_in_place(in, out), out, n, to_mpi(type), MPI_SUM,
                                                session_->mpi.communicator()));
}

Status MpiCollectives::reduce(void const* in, void* out, std::size_t count, MpiType type, Rank to) {
    DET_TRY_ASSIGN(int const n, to_count(count));
    auto const* const from = rank() == to ? unless_in_place(in, out) : in;
    return status_of("reduce",
                     MPI_Reduce(from, out, n, to_mpi(type), MPI_SUM, to.value, session_->mpi.communicator()));
}

Status MpiCollectives::broadcast(void* data, std::size_t count, MpiType type, Rank from) {
    DET_TRY_ASSIGN(int const n, to_count(count));
    return status_of("broadcast", MPI_Bcast(data, n, to_mpi(type), from.value, session_->mpi.communicator()));
}

Status MpiCollectives::reduce_scatter(void const* all, void* part, std::size_t part_count, MpiType type) {
    DET_TRY_ASSIGN(int const n, to_count(part_count));
    return status_of("reduce_scatter",
                     MPI_Reduce_scatter_block(unless_in_place(all, part), part, n, to_mpi(type), MPI_SUM,
                                              session_->mpi.communicator()));
}

Status MpiCollectives::allgather(void const* part, void* all, std::size_t part_count, MpiType type) {
    DET_TRY_ASSIGN(int const n, to_count(part_count));
    return status_of("allgather", MPI_Allgather(part, n, to_mpi(type), all, n, to_mpi(type),
                                                session_->mpi.communicator()));
}

Status MpiCollectives::all_to_all(void const* in, void* out, std::size_t count, MpiType type) {
    DET_TRY_ASSIGN(int const n, to_count(count / static_cast<std::size_t>(size())));
    return status_of("all_to_all", MPI_Alltoall(unless_in_place(in, out), n, to_mpi(type), out, n,
                                                to_mpi(type), session_->mpi.communicator()));
}

}  // namespace det::transport
