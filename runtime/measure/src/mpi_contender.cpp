#include <det/measure/contender.hpp>
#ifdef DET_WITH_MPI
#include <det/transport/mpi_collectives.hpp>
#endif

#include <fmt/format.h>

namespace det::measure {

#ifdef DET_WITH_MPI
namespace {

using collectives::DataType, collectives::Kind, collectives::TensorCall;
using transport::MpiCollectives, transport::MpiType;

std::optional<MpiType> mpi_type_of(DataType type) {
    switch (type) {
        case DataType::uint8:
            return MpiType::uint8;
        case DataType::int32:
            return MpiType::int32;
        case DataType::int64:
            return MpiType::int64;
        case DataType::float32:
            return MpiType::float32;
        case DataType::float64:
            return MpiType::float64;
        default:
            return std::nullopt;  // it has no halves
    }
}

class MpiContender final : public Contender {
public:
    explicit MpiContender(MpiCollectives mpi) : mpi_(std::move(mpi)) {}

    std::string name() const override { return "mpi"; }
    bool knows(TensorCall const& call) const override { return mpi_type_of(call.out.type).has_value(); }
    Status run(TensorCall const& call) override {
        auto const type = *mpi_type_of(call.out.type);
        switch (call.kind) {
            case Kind::allreduce:
                return mpi_.allreduce(call.in.data, call.out.data, call.out.count, type);
            case Kind::reduce:
                return mpi_.reduce(call.in.data, call.out.data, call.in.count, type, call.root);
            case Kind::reduce_scatter:
                return mpi_.reduce_scatter(call.in.data, call.out.data, call.out.count, type);
            case Kind::allgather_elements:
                return mpi_.allgather(call.in.data, call.out.data, call.in.count, type);
            case Kind::all_to_all:
                return mpi_.all_to_all(call.in.data, call.out.data, call.in.count, type);
            default:
                return mpi_.broadcast(call.out.data, call.out.count, type, call.root);
        }
    }

private:
    MpiCollectives mpi_;
};

}  // namespace

Result<std::unique_ptr<Contender>> contend_with_mpi(Rank rank, int size) {
    DET_TRY_ASSIGN(auto mpi, MpiCollectives::open());
    if (mpi.rank() != rank || mpi.size() != size) {
        return Error{codes::transport, fmt::format("this is rank {} of {}, and rank {} of {} for MPI",
                                                   rank.value, size, mpi.rank().value, mpi.size())};
    }
    return std::unique_ptr<Contender>(std::make_unique<MpiContender>(std::move(mpi)));
}
#else
Result<std::unique_ptr<Contender>> contend_with_mpi(Rank, int) {
    return Error{codes::transport, "det-bench was built without MPI", "install an MPI and build again"};
}
#endif

}  // namespace det::measure
