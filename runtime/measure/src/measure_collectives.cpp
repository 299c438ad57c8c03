#include <det/measure/measure_collectives.hpp>
#include <det/measure/timed_loop.hpp>

#include <algorithm>

#include "test_data.hpp"

namespace det::measure {
namespace {

using collectives::Buffer, collectives::DistributedContext, collectives::ReduceOp, collectives::TensorCall;

/// What a contender works on.
struct Workplace {
    Buffer in, out;
};

bool is_in_place(Operation const& operation) {
    return operation.kind == collectives::Kind::allreduce || operation.kind == collectives::Kind::broadcast;
}

class Meter {
public:
    Meter(CollectivesArguments const& arguments, DistributedContext& ranks, Contender* peer, Told const& told)
        : arguments_(arguments), ranks_(ranks), ours_(contend_with(ranks)), peer_(peer), told_(told) {}

    Result<std::uint64_t> run() {
        for (auto const& operation : arguments_.operations) {
            for (auto const size : arguments_.sizes_bytes) DET_TRY(measure(operation, size));
        }
        return wrong_;
    }

private:
    Status measure(Operation const& operation, std::size_t size_bytes) {
        auto const extent = extent_of(operation, arguments_.type, size_bytes, ranks_.size());
        Row row{.operation = std::string(operation.name),
                .size_bytes = extent.size_bytes,
                .count = extent.count,
                .type = std::string(collectives::name_of(arguments_.type)),
                .ranks = ranks_.size(),
                .way = {},
                .iterations = arguments_.iterations.value_or(iterations_for(extent.size_bytes)),
                .times = {},
                .bus_factor = operation.bus_factor(ranks_.size())};
        DET_TRY_ASSIGN(auto const place, make_room(operation, extent, arguments_.memory));
        auto const call = call_in(place, operation, extent);
        DET_TRY_ASSIGN(auto const plain, make_room(operation, extent, Memory::plain));
        auto const peer_call = call_in(plain, operation, extent);
        bool const has_peer = peer_ != nullptr && peer_->knows(peer_call);

        double ours_s = 0, peer_s = 0;
        auto const rounds = std::min(row.iterations, rounds_max);
        row.iterations -= row.iterations % rounds;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            DET_TRY_ASSIGN(auto const mean_s,
                           time(*ours_, call, input_of(place, operation), row.iterations / rounds));
            ours_s += mean_s / rounds;
            if (!has_peer) continue;
            DET_TRY_ASSIGN(auto const of_peer_s,
                           time(*peer_, peer_call, input_of(plain, operation), row.iterations / rounds));
            peer_s += of_peer_s / rounds;
        }
        row.way = ranks_.way_of(call);
        DET_TRY_ASSIGN(row.times, over_ranks(ours_s));
        DET_TRY_ASSIGN(row.wrong, check(*ours_, call, input_of(place, operation)));
        wrong_ += row.wrong;
        if (has_peer) {
            row.peer.emplace(Row::PeerResult{peer_->name(), {}, 0});
            DET_TRY_ASSIGN(row.peer->times, over_ranks(peer_s));
            DET_TRY_ASSIGN(row.peer->wrong, check(*peer_, peer_call, input_of(plain, operation)));
        }
        if (ranks_.is_chief()) told_(row);
        return Ok{};
    }

    Result<Workplace> make_room(Operation const& operation, Extent const& extent, Memory memory) {
        Workplace place;
        auto const allocate = [&]() -> Result<Buffer> {
            return memory == Memory::shared ? ranks_.allocate(extent.size_bytes)
                                            : collectives::allocate_private(extent.size_bytes);
        };
        DET_TRY_ASSIGN(place.out, allocate());
        if (!is_in_place(operation)) {
            DET_TRY_ASSIGN(place.in, allocate());
        }
        return place;
    }

    static std::byte* input_of(Workplace const& place, Operation const& operation) {
        return (is_in_place(operation) ? place.out : place.in).bytes().data();
    }

    TensorCall call_in(Workplace const& place, Operation const& operation, Extent const& extent) const {
        return call_of(operation, arguments_.type, extent, input_of(place, operation),
                       place.out.bytes().data());
    }

    /// Seconds of an iteration on this rank.
    Result<double> time(Contender& contender, TensorCall const& call, std::byte* input,
                        std::uint32_t iterations) {
        TestData data(call, input, ranks_.rank(), ranks_.size());
        Status status = Ok{};
        auto const unless_failed = [&](auto step) {
            if (status) status = step();
        };
        auto const mean_s = mean_seconds(
            iterations, [&](std::uint32_t) { data.fill(); },
            [&] { unless_failed([&] { return ranks_.barrier(); }); },
            [&] { unless_failed([&] { return contender.run(call); }); });
        DET_TRY(status);
        return mean_s;
    }

    Result<Times> over_ranks(double own_s) {
        auto const own_us = own_s * 1e6;
        Times times;
        DET_TRY_ASSIGN(times.min_us, ranks_.allreduce(own_us, ReduceOp::min));
        DET_TRY_ASSIGN(times.mean_us, ranks_.allreduce(own_us, ReduceOp::mean));
        DET_TRY_ASSIGN(times.max_us, ranks_.allreduce(own_us, ReduceOp::max));
        return times;
    }

    /// Elements that are wrong on any rank.
    Result<std::uint64_t> check(Contender& contender, TensorCall const& call, std::byte* input) {
        TestData data(call, input, ranks_.rank(), ranks_.size());
        data.poison();
        data.fill();
        DET_TRY(ranks_.barrier());
        DET_TRY(contender.run(call));
        auto const wrong = static_cast<std::int64_t>(data.count_wrong());
        DET_TRY_ASSIGN(auto const of_all, ranks_.allreduce(wrong, ReduceOp::sum));
        return static_cast<std::uint64_t>(of_all);
    }

    static constexpr std::uint32_t rounds_max = 5;

    CollectivesArguments const& arguments_;
    DistributedContext& ranks_;
    std::unique_ptr<Contender> ours_;
    Contender* peer_;
    Told const& told_;
    std::uint64_t wrong_ = 0;
};

}  // namespace

Result<std::uint64_t> measure_collectives(CollectivesArguments const& arguments, DistributedContext& ranks,
                                          Contender* peer, Told const& told) {
    return Meter(arguments, ranks, peer, told).run();
}

}  // namespace det::measure
