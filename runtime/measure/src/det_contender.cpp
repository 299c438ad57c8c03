#include <det/measure/contender.hpp>

namespace det::measure {
namespace {

using collectives::Kind, collectives::TensorCall;

class DetContender final : public Contender {
public:
    explicit DetContender(collectives::DistributedContext& ranks) : ranks_(ranks) {}

    std::string name() const override { return "det"; }
    bool knows(TensorCall const&) const override { return true; }
    Status run(TensorCall const& call) override {
        switch (call.kind) {
            case Kind::allreduce:
                return ranks_.allreduce(call.in, call.out, call.op);
            case Kind::reduce:
                return ranks_.reduce(call.in, call.out, call.op, call.root);
            case Kind::reduce_scatter:
                return ranks_.reduce_scatter(call.in, call.out, call.op);
            case Kind::allgather_elements:
                return ranks_.allgather(call.in, call.out);
            case Kind::all_to_all:
                return ranks_.all_to_all(call.in, call.out);
            case Kind::broadcast:
                return ranks_.broadcast(call.out, call.root);
            default:
                return ranks_.barrier();
        }
    }

private:
    collectives::DistributedContext& ranks_;
};

}  // namespace

std::unique_ptr<Contender> contend_with(collectives::DistributedContext& ranks) {
    return std::make_unique<DetContender>(ranks);
}

}  // namespace det::measure
