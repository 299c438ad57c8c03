#include <det/transport/mpi/mpi_collectives.hpp>

#include <fmt/format.h>

#include "measure_collectives.hpp"

namespace det::measure {
namespace {

using collectives::DataType, collectives::DistributedContext, collectives::Kind, collectives::TensorCall;
namespace mpi = transport::mpi;

Status run_with_det(DistributedContext& ranks, TensorCall const& call) {
    switch (call.kind) {
        case Kind::allreduce:
            return ranks.allreduce(call.in, call.out, call.op);
        case Kind::reduce:
            return ranks.reduce(call.in, call.out, call.op, call.root);
        case Kind::reduce_scatter:
            return ranks.reduce_scatter(call.in, call.out, call.op);
        case Kind::allgather_elements:
            return ranks.allgather(call.in, call.out);
        case Kind::all_to_all:
            return ranks.all_to_all(call.in, call.out);
        case Kind::broadcast:
            return ranks.broadcast(call.out, call.root);
        default:
            return ranks.barrier();
    }
}

std::optional<mpi::ElementType> mpi_type_of(DataType type) {
    switch (type) {
        case DataType::uint8:
            return mpi::ElementType::uint8;
        case DataType::int32:
            return mpi::ElementType::int32;
        case DataType::int64:
            return mpi::ElementType::int64;
        case DataType::float32:
            return mpi::ElementType::float32;
        case DataType::float64:
            return mpi::ElementType::float64;
        default:
            return std::nullopt;  // MPI has no 16-bit floating point types
    }
}

Status run_with_mpi(mpi::Collectives& ranks, TensorCall const& call) {
    auto const type = *mpi_type_of(call.out.type);
    switch (call.kind) {
        case Kind::allreduce:
            return ranks.allreduce(call.in.data, call.out.data, call.out.count, type);
        case Kind::reduce:
            return ranks.reduce(call.in.data, call.out.data, call.in.count, type, call.root);
        case Kind::reduce_scatter:
            return ranks.reduce_scatter(call.in.data, call.out.data, call.out.count, type);
        case Kind::allgather_elements:
            return ranks.allgather(call.in.data, call.out.data, call.in.count, type);
        case Kind::all_to_all:
            return ranks.all_to_all(call.in.data, call.out.data, call.in.count, type);
        default:
            return ranks.broadcast(call.out.data, call.out.count, type, call.root);
    }
}

}  // namespace

Implementation make_det_implementation(DistributedContext& ranks) {
    return {"det", [&ranks](TensorCall const& call) { return run_with_det(ranks, call); },
            [](DataType) { return true; }};
}

Result<Implementation> load_mpi_implementation(Rank rank, int size) {
    DET_TRY_ASSIGN(auto opened, mpi::open_collectives());
    std::shared_ptr<mpi::Collectives> const ranks(std::move(opened));
    if (ranks->rank() != rank || ranks->size() != size) {
        return Error{codes::transport, fmt::format("this is rank {} of {}, and rank {} of {} for MPI",
                                                   rank.value, size, ranks->rank().value, ranks->size())};
    }
    return Implementation{"mpi", [ranks](TensorCall const& call) { return run_with_mpi(*ranks, call); },
                          [](DataType type) { return mpi_type_of(type).has_value(); }};
}

}  // namespace det::measure
