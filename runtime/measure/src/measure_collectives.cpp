#include "measure_collectives.hpp"

#include <algorithm>

#include "test_data.hpp"
#include "timed_loop.hpp"

namespace det::measure {
namespace {

using collectives::Buffer, collectives::DistributedContext, collectives::ReduceOp;

bool is_in_place(Operation const& operation) {
    return operation.kind == collectives::Kind::allreduce || operation.kind == collectives::Kind::broadcast;
}

Result<Buffer> allocate(DistributedContext& ranks, std::size_t size_bytes, Memory memory) {
    return memory == Memory::shared ? ranks.allocate(size_bytes) : collectives::allocate_private(size_bytes);
}

/// One contender with the buffers for one operation at one size. All functions but call() are collective.
class Measurement {
public:
    static Result<Measurement> make(Implementation const& contender, DistributedContext& ranks,
                                    Operation const& operation, collectives::DataType type,
                                    OperationSize const& extent, Memory memory) {
        DET_TRY_ASSIGN(auto out, allocate(ranks, extent.size_bytes, memory));
        Buffer in;
        if (!is_in_place(operation)) {
            DET_TRY_ASSIGN(in, allocate(ranks, extent.size_bytes, memory));
        }
        Measurement made(contender, ranks, std::move(in), std::move(out));
        auto* const output = made.out_.bytes().data();
        auto* const input = is_in_place(operation) ? output : made.in_.bytes().data();
        made.call_ = call_of(operation, type, extent, input, output);
        made.data_.emplace(made.call_, input, ranks.rank(), ranks.size());
        return made;
    }

    collectives::TensorCall const& call() const { return call_; }

    /// Runs and measures further iterations.
    Status run(std::uint32_t iterations) {
        Status status = Ok{};
        auto const unless_failed = [&](auto step) {
            if (status) status = step();
        };
        auto const mean_s = measure_mean_seconds(
            iterations, [&](std::uint32_t) { data_->fill(); },
            [&] { unless_failed([&] { return ranks_->barrier(); }); },
            [&] { unless_failed([&] { return contender_->run(call_); }); });
        total_s_ += mean_s * iterations;
        iterations_ += iterations;
        return status;
    }

    /// The mean time of an iteration over all calls of run().
    Result<Times> times() {
        auto const own_us = total_s_ / iterations_ * 1e6;
        Times times;
        DET_TRY_ASSIGN(times.min_us, ranks_->allreduce(own_us, ReduceOp::min));
        DET_TRY_ASSIGN(times.mean_us, ranks_->allreduce(own_us, ReduceOp::mean));
        DET_TRY_ASSIGN(times.max_us, ranks_->allreduce(own_us, ReduceOp::max));
        return times;
    }

    /// Runs the operation once. Returns on all ranks the number of wrong elements of all ranks together.
    Result<std::uint64_t> count_wrong() {
        data_->poison();
        data_->fill();
        DET_TRY(ranks_->barrier());
        DET_TRY(contender_->run(call_));
        auto const own = static_cast<std::int64_t>(data_->count_wrong());
        DET_TRY_ASSIGN(auto const of_all, ranks_->allreduce(own, ReduceOp::sum));
        return static_cast<std::uint64_t>(of_all);
    }

private:
    Measurement(Implementation const& contender, DistributedContext& ranks, Buffer in, Buffer out)
        : contender_(&contender), ranks_(&ranks), in_(std::move(in)), out_(std::move(out)) {}

    Implementation const* contender_;
    DistributedContext* ranks_;
    Buffer in_;  // empty: in place
    Buffer out_;
    collectives::TensorCall call_;
    std::optional<TestData> data_;
    double total_s_ = 0;  // on this rank
    std::uint32_t iterations_ = 0;
};

/// Alternates between both sides, so that a disturbance of the machine affects both.
/// \return the number of iterations of each side: `wanted`, rounded down to a multiple of the turns.
Result<std::uint32_t> take_turns(Measurement& det, std::optional<Measurement>& peer, std::uint32_t wanted) {
    constexpr std::uint32_t turns_max = 5;
    auto const turns = std::min(wanted, turns_max);
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
        DET_TRY(det.run(wanted / turns));
        if (peer) DET_TRY(peer->run(wanted / turns));
    }
    return wanted / turns * turns;
}

Result<Row> measure(CollectivesArguments const& arguments, DistributedContext& ranks,
                    Implementation const* contender, Operation const& operation, std::size_t wanted_bytes) {
    auto const extent = operation_size(operation, arguments.type, wanted_bytes, ranks.size());
    auto const own = make_det_implementation(ranks);
    DET_TRY_ASSIGN(auto det,
                   Measurement::make(own, ranks, operation, arguments.type, extent, arguments.memory));
    std::optional<Measurement> peer;
    if (contender != nullptr && contender->supports(arguments.type)) {
        DET_TRY_ASSIGN(
            peer, Measurement::make(*contender, ranks, operation, arguments.type, extent, Memory::plain));
    }
    Row row{.operation = std::string(operation.name),
            .size_bytes = extent.size_bytes,
            .count = extent.count,
            .type = std::string(collectives::name_of(arguments.type)),
            .ranks = ranks.size(),
            .algorithm = ranks.algorithm_name(det.call()),
            .bus_factor = operation.bus_factor(ranks.size())};
    auto const iterations = arguments.iterations.value_or(iterations_for(row.size_bytes));
    DET_TRY_ASSIGN(row.iterations, take_turns(det, peer, iterations));
    DET_TRY_ASSIGN(row.times, det.times());
    DET_TRY_ASSIGN(row.wrong, det.count_wrong());
    if (!peer) return row;
    row.peer.emplace(Row::PeerResult{contender->name, {}, 0});
    DET_TRY_ASSIGN(row.peer->times, peer->times());
    DET_TRY_ASSIGN(row.peer->wrong, peer->count_wrong());
    return row;
}

}  // namespace

Result<std::uint64_t> measure_collectives(CollectivesArguments const& arguments, DistributedContext& ranks,
                                          Implementation const* peer,
                                          std::function<void(Row const& row)> const& on_row) {
    std::uint64_t wrong = 0;
    for (auto const& operation : arguments.operations) {
        for (auto const size : arguments.sizes_bytes) {
            DET_TRY_ASSIGN(auto const row, measure(arguments, ranks, peer, operation, size));
            wrong += row.wrong;
            if (ranks.is_chief()) on_row(row);
        }
    }
    return wrong;
}

}  // namespace det::measure
