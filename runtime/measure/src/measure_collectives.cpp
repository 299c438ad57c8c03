#include <det/measure/measure_collectives.hpp>

#include <algorithm>

#include "side.hpp"

namespace det::measure {
namespace {

using collectives::DistributedContext;

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
        DET_TRY_ASSIGN(auto ours,
                       Side::make(*ours_, ranks_, operation, arguments_.type, extent, arguments_.memory));
        DET_TRY_ASSIGN(auto peer, find_peer(operation, extent));
        auto row = begin_row(operation, extent);
        DET_TRY(take_turns(ours, peer, row));
        row.way = ranks_.algorithm_name(ours.call());
        DET_TRY_ASSIGN(row.times, ours.times());
        DET_TRY_ASSIGN(row.wrong, ours.count_wrong());
        wrong_ += row.wrong;
        if (peer) {
            row.peer.emplace(Row::PeerResult{peer_->name(), {}, 0});
            DET_TRY_ASSIGN(row.peer->times, peer->times());
            DET_TRY_ASSIGN(row.peer->wrong, peer->count_wrong());
        }
        if (ranks_.is_chief()) told_(row);
        return Ok{};
    }

    Result<std::optional<Side>> find_peer(Operation const& operation, Extent const& extent) {
        if (peer_ == nullptr) return std::optional<Side>();
        DET_TRY_ASSIGN(auto side,
                       Side::make(*peer_, ranks_, operation, arguments_.type, extent, Memory::plain));
        return peer_->knows(side.call()) ? std::optional(std::move(side)) : std::nullopt;
    }

    Row begin_row(Operation const& operation, Extent const& extent) const {
        Row row;
        row.operation = operation.name;
        row.size_bytes = extent.size_bytes;
        row.count = extent.count;
        row.type = collectives::name_of(arguments_.type);
        row.ranks = ranks_.size();
        row.bus_factor = operation.bus_factor(ranks_.size());
        return row;
    }

    /// Alternates both sides, so that a disturbance of the machine affects both.
    Status take_turns(Side& ours, std::optional<Side>& peer, Row& row) {
        constexpr std::uint32_t turns_max = 5;
        auto const wanted = arguments_.iterations.value_or(iterations_for(row.size_bytes));
        auto const turns = std::min(wanted, turns_max);
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
            DET_TRY(ours.run(wanted / turns));
            if (peer) DET_TRY(peer->run(wanted / turns));
        }
        row.iterations = wanted / turns * turns;
        return Ok{};
    }

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
