#include <det/measure/contender.hpp>
#include <det/transport/mpi/mpi_collectives.hpp>

#include <fmt/format.h>

namespace det::measure {

namespace {

using collectives::DataType, collectives::Kind, collectives::TensorCall;
namespace mpi = transport::mpi;

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

class MpiContender final : public Contender {
public:
    explicit MpiContender(std::unique_ptr<mpi::Collectives> mpi) : mpi_(std::move(mpi)) {}

    std::string name() const override { return "mpi"; }
    bool knows(TensorCall const& call) const override { return mpi_type_of(call.out.type).has_value(); }
    Status run(TensorCall const& call) override {
        auto const type = *mpi_type_of(call.out.type);
        switch (call.kind) {
            case Kind::allreduce:
                return mpi_->allreduce(call.in.data, call.out.data, call.out.count, type);
            case Kind::reduce:
                return mpi_->reduce(call.in.data, call.out.data, call.in.count, type, call.root);
            case Kind::reduce_scatter:
                return mpi_->reduce_scatter(call.in.data, call.out.data, call.out.count, type);
            case Kind::allgather_elements:
                return mpi_->allgather(call.in.data, call.out.data, call.in.count, type);
            case Kind::all_to_all:
                return mpi_->all_to_all(call.in.data, call.out.data, call.in.count, type);
            default:
                return mpi_->broadcast(call.out.data, call.out.count, type, call.root);
        }
    }

private:
    std::unique_ptr<mpi::Collectives> mpi_;
};

}  // namespace

Result<std::unique_ptr<Contender>> contend_with_mpi(Rank rank, int size) {
    DET_TRY_ASSIGN(auto mpi, transport::mpi::open_collectives());
    if (mpi->rank() != rank || mpi->size() != size) {
        return Error{codes::transport, fmt::format("this is rank {} of {}, and rank {} of {} for MPI",
                                                   rank.value, size, mpi->rank().value, mpi->size())};
    }
    return std::unique_ptr<Contender>(std::make_unique<MpiContender>(std::move(mpi)));
}

}  // namespace det::measure
