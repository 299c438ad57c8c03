#include "side.hpp"

#include <det/measure/timed_loop.hpp>

namespace det::measure {

using collectives::Buffer, collectives::DistributedContext, collectives::ReduceOp;

namespace {

bool is_in_place(Operation const& operation) {
    return operation.kind == collectives::Kind::allreduce || operation.kind == collectives::Kind::broadcast;
}

Result<Buffer> allocate(DistributedContext& ranks, std::size_t size_bytes, Memory memory) {
    return memory == Memory::shared ? ranks.allocate(size_bytes) : collectives::allocate_private(size_bytes);
}

}  // namespace

Side::Side(Contender& contender, DistributedContext& ranks, Buffer in, Buffer out)
    : contender_(&contender), ranks_(&ranks), in_(std::move(in)), out_(std::move(out)) {}

Result<Side> Side::make(Contender& contender, DistributedContext& ranks, Operation const& operation,
                        collectives::DataType type, Extent const& extent, Memory memory) {
    DET_TRY_ASSIGN(auto out, allocate(ranks, extent.size_bytes, memory));
    Buffer in;
    if (!is_in_place(operation)) {
        DET_TRY_ASSIGN(in, allocate(ranks, extent.size_bytes, memory));
    }
    Side side(contender, ranks, std::move(in), std::move(out));
    auto* const output = side.out_.bytes().data();
    auto* const input = is_in_place(operation) ? output : side.in_.bytes().data();
    side.call_ = call_of(operation, type, extent, input, output);
    side.data_.emplace(side.call_, input, ranks.rank(), ranks.size());
    return side;
}

Status Side::run(std::uint32_t iterations) {
    Status status = Ok{};
    auto const unless_failed = [&](auto step) {
        if (status) status = step();
    };
    auto const mean_s = mean_seconds(
        iterations, [&](std::uint32_t) { data_->fill(); },
        [&] { unless_failed([&] { return ranks_->barrier(); }); },
        [&] { unless_failed([&] { return contender_->run(call_); }); });
    total_s_ += mean_s * iterations;
    iterations_ += iterations;
    return status;
}

Result<Times> Side::times() {
    auto const own_us = total_s_ / iterations_ * 1e6;
    Times times;
    DET_TRY_ASSIGN(times.min_us, ranks_->allreduce(own_us, ReduceOp::min));
    DET_TRY_ASSIGN(times.mean_us, ranks_->allreduce(own_us, ReduceOp::mean));
    DET_TRY_ASSIGN(times.max_us, ranks_->allreduce(own_us, ReduceOp::max));
    return times;
}

Result<std::uint64_t> Side::count_wrong() {
    data_->poison();
    data_->fill();
    DET_TRY(ranks_->barrier());
    DET_TRY(contender_->run(call_));
    auto const own = static_cast<std::int64_t>(data_->count_wrong());
    DET_TRY_ASSIGN(auto const of_all, ranks_->allreduce(own, ReduceOp::sum));
    return static_cast<std::uint64_t>(of_all);
}

}  // namespace det::measure
