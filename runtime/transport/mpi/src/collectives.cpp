#include <fmt/format.h>
#include <limits>

#include "messages.hpp"

namespace det::transport::mpi {
namespace {

MPI_Datatype to_mpi(ElementType type) {
    switch (type) {
        case ElementType::uint8:
            return MPI_UINT8_T;
        case ElementType::int32:
            return MPI_INT32_T;
        case ElementType::int64:
            return MPI_INT64_T;
        case ElementType::float32:
            return MPI_FLOAT;
        case ElementType::float64:
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

class MpiCollectives final : public Collectives {
public:
    MpiCollectives(Communicator communicator, Rank rank, int size)
        : communicator_(std::move(communicator)), rank_(rank), size_(size) {}

    Rank rank() const override { return rank_; }
    int size() const override { return size_; }

    Status allreduce(void const* in, void* out, std::size_t count, ElementType type) override {
        DET_TRY_ASSIGN(int const n, to_count(count));
        return status_of("allreduce", MPI_Allreduce(unless_in_place(in, out), out, n, to_mpi(type), MPI_SUM,
                                                    communicator_.handle()));
    }

    Status reduce(void const* in, void* out, std::size_t count, ElementType type, Rank to) override {
        DET_TRY_ASSIGN(int const n, to_count(count));
        auto const* const from = rank() == to ? unless_in_place(in, out) : in;
        return status_of("reduce",
                         MPI_Reduce(from, out, n, to_mpi(type), MPI_SUM, to.value, communicator_.handle()));
    }

    Status broadcast(void* data, std::size_t count, ElementType type, Rank from) override {
        DET_TRY_ASSIGN(int const n, to_count(count));
        return status_of("broadcast", MPI_Bcast(data, n, to_mpi(type), from.value, communicator_.handle()));
    }

    Status reduce_scatter(void const* all, void* part, std::size_t part_count, ElementType type) override {
        DET_TRY_ASSIGN(int const n, to_count(part_count));
        return status_of("reduce_scatter",
                         MPI_Reduce_scatter_block(unless_in_place(all, part), part, n, to_mpi(type), MPI_SUM,
                                                  communicator_.handle()));
    }

    Status allgather(void const* part, void* all, std::size_t part_count, ElementType type) override {
        DET_TRY_ASSIGN(int const n, to_count(part_count));
        return status_of("allgather",
                         MPI_Allgather(part, n, to_mpi(type), all, n, to_mpi(type), communicator_.handle()));
    }

    Status all_to_all(void const* in, void* out, std::size_t count, ElementType type) override {
        DET_TRY_ASSIGN(int const n, to_count(count / static_cast<std::size_t>(size())));
        return status_of("all_to_all", MPI_Alltoall(unless_in_place(in, out), n, to_mpi(type), out, n,
                                                    to_mpi(type), communicator_.handle()));
    }

private:
    Communicator communicator_;
    Rank rank_;
    int size_;
};

}  // namespace

Result<std::unique_ptr<Collectives>> make_collectives() {
    DET_TRY_ASSIGN(auto communicator, Communicator::open(ThreadLevel::one_at_a_time));
    DET_TRY_ASSIGN(int const rank, communicator.rank());
    DET_TRY_ASSIGN(int const size, communicator.size());
    return std::unique_ptr<Collectives>(
        std::make_unique<MpiCollectives>(std::move(communicator), Rank{rank}, size));
}

}  // namespace det::transport::mpi
