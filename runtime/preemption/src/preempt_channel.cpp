#include <det/liveness/wait_recorder.hpp>
#include <det/preemption/preempt_channel.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace det::preemption {
namespace {

using Role = PreemptRoutes::Role;

bool is_enough(std::uint64_t value, std::uint64_t call) {
    return PreemptState::from(value).is_enough_for(call);
}

Agreement::CommonNoticeRule common_notice_rule_of(Role role) {
    switch (role) {
        case Role::direct:
            return Agreement::CommonNoticeRule::for_all;
        case Role::relay:
            return Agreement::CommonNoticeRule::for_leaders;
        case Role::leaf:
            return Agreement::CommonNoticeRule::never;
    }
    return Agreement::CommonNoticeRule::never;
}

bool are_all_leaders(std::vector<RankPlacement> const& placements) {
    auto const has_no_leader = [](RankPlacement const& rank) {
        return rank.topology.local_size > 1 && !rank.shares_memory;
    };
    return placements.front().topology.cross_size == 1 || std::ranges::any_of(placements, has_no_leader);
}

Result<std::vector<RankPlacement>> gather_placements(collectives::DistributedContext& distributed) {
    RankPlacement own{{distributed.local_rank(), distributed.local_size(), distributed.cross_rank(),
                       distributed.cross_size()},
                      distributed.control_channel().flags != nullptr};
    std::vector<RankPlacement> placements;
    if (own.topology.cross_size == 1) {
        // On one node each rank knows the placement of all ranks without communication.
        for (auto& rank = own.topology.local_rank = 0; rank < distributed.size(); ++rank)
            placements.push_back(own);
        return placements;
    }
    DET_TRY_ASSIGN(auto const values,
                   distributed.allgather({reinterpret_cast<char const*>(&own), sizeof own}));
    for (auto const& value : values) std::memcpy(&placements.emplace_back(), value.data(), sizeof own);
    return placements;
}

}  // namespace

PreemptRoutes plan_routes(std::vector<RankPlacement> const& placements, Rank own, std::size_t direct_max) {
    PreemptRoutes routes;
    auto const& here = placements[static_cast<std::size_t>(own.value)];
    bool const all_lead = are_all_leaders(placements);
    auto const is_leader = [&](RankPlacement const& rank) {
        return all_lead || rank.topology.local_rank == 0;
    };
    if (!all_lead && placements.size() > direct_max) routes.role = is_leader(here) ? Role::relay : Role::leaf;
    for (std::size_t i = 0; i < placements.size(); ++i) {
        Rank const rank{static_cast<int>(i)};
        auto const& there = placements[i];
        bool const is_near =
            rank == own || (here.shares_memory && there.topology.cross_rank == here.topology.cross_rank);
        if (!is_near && is_leader(here) && (routes.role == Role::direct || is_leader(there)))
            routes.targets.push_back(rank);
        bool const is_source =
            routes.role == Role::leaf ? is_near && is_leader(there) : is_near || is_leader(there);
        if (!is_source && rank != own) continue;
        if (rank == own) routes.own = routes.sources.size();
        routes.sources.push_back({rank,
                                  is_leader(there) ? Agreement::Role::leader : Agreement::Role::follower,
                                  is_near ? there.topology.local_rank : -1});
    }
    return routes;
}

Result<PreemptChannel> PreemptChannel::open(collectives::DistributedContext& distributed) {
    DET_TRY_ASSIGN(auto const placements, gather_placements(distributed));
    PreemptChannel channel(distributed, plan_routes(placements, distributed.rank()));
    DET_TRY(channel.exchange_first_messages());
    return Result<PreemptChannel>(std::move(channel));
}

PreemptChannel::PreemptChannel(collectives::DistributedContext& distributed, PreemptRoutes routes)
    : control_(distributed.control_channel()),
      routes_(std::move(routes)),
      received_(routes_.sources.size()) {}

Agreement PreemptChannel::make_agreement() const {
    std::vector<Agreement::Role> roles;
    for (auto const& source : routes_.sources) roles.push_back(source.role);
    return {std::move(roles), routes_.own, common_notice_rule_of(routes_.role)};
}

Status PreemptChannel::exchange_first_messages() {
    std::uint64_t const sent = 0;
    std::deque<std::uint64_t> received;
    std::vector<transport::Request> requests;
    for (auto const& source : routes_.sources) {
        if (source.local_rank >= 0) continue;
        auto const into = std::as_writable_bytes(std::span(&received.emplace_back(), 1));
        DET_TRY_ASSIGN(auto request, control_.transport->start_receive(source.rank, control_.tag, into));
        requests.push_back(std::move(request));
    }
    for (auto const rank : routes_.targets) {
        auto const bytes = std::as_bytes(std::span(&sent, 1));
        DET_TRY_ASSIGN(auto request, control_.transport->start_send(rank, control_.tag, bytes));
        requests.push_back(std::move(request));
    }
    for (auto& request : requests) DET_TRY(request.finish());
    return Ok{};
}

// A rank that has decided may end before it receives this rank's state. That is not a failure, so Errors of
// sends are ignored. If a rank is really lost, the ranks that wait for its state get the Error.

void PreemptChannel::release_finished_sends() {
    while (!sent_.empty()) {
        for (auto& requests = sent_.front().requests; !requests.empty(); requests.pop_back()) {
            auto const has_arrived = requests.back().test();
            if (has_arrived && !*has_arrived) return;
            static_cast<void>(requests.back().finish());
        }
        sent_.pop_front();
    }
}

Status PreemptChannel::post(PreemptState state) {
    if (state == posted_) return Ok{};
    posted_ = state;
    if (control_.flags != nullptr && routes_.role != Role::relay) control_.flags->write(state.value());
    if (routes_.targets.empty()) return Ok{};
    release_finished_sends();
    auto& sent = sent_.emplace_back(Sent{state.value()});
    auto const bytes = std::as_bytes(std::span(&sent.value, 1));
    for (auto const rank : routes_.targets) {
        if (auto request = control_.transport->start_send(rank, control_.tag, bytes))
            sent.requests.push_back(*std::move(request));
    }
    return Ok{};
}

Status PreemptChannel::relay(PreemptState agreed) {
    if (control_.flags != nullptr) control_.flags->write(agreed.value());
    return Ok{};
}

Result<bool> PreemptChannel::agree(Agreement& agreement, bool has_notice) {
    return routes_.role == Role::relay ? agree_and_relay(agreement, *this, has_notice)
                                       : preemption::agree(agreement, *this, has_notice);
}

PreemptState PreemptChannel::peek(std::size_t member) {
    auto const local_rank = routes_.sources[member].local_rank;
    return local_rank < 0 ? received_[member] : PreemptState::from(control_.flags->read(local_rank));
}

Result<PreemptState> PreemptChannel::wait(Agreement::Awaited awaited) {
    auto const [member, call] = awaited;
    auto const& source = routes_.sources[member];
    if (source.local_rank >= 0) {
        DET_TRY_ASSIGN(auto const value,
                       control_.flags->wait(source.local_rank, is_enough, {"should_preempt()", call}));
        return PreemptState::from(value);
    }
    auto& state = received_[member];
    if (control_.recorder != nullptr) control_.recorder->begin_control();
    while (!state.is_enough_for(call)) {
        std::uint64_t value = 0;
        auto const into = std::as_writable_bytes(std::span(&value, 1));
        DET_TRY(control_.transport->receive(source.rank, control_.tag, into));
        state = PreemptState::from(value);
    }
    return state;
}

}  // namespace det::preemption
