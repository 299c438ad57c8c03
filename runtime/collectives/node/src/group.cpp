#include "group.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "object_operation.hpp"
#include "tensor_operation.hpp"

namespace det::collectives::node {
namespace {

using collectives::Kind;

constexpr int small_ranks_max = 16;  // not for more ranks, because each rank reads the data of all others

std::size_t small_below_bytes(ControlMemory const& control) {
    if (control.ranks() > small_ranks_max) return 0;
    return std::max(std::min(shared_from_bytes, control.geometry().small_limit_bytes + 1), payload_bytes + 1);
}

class PendingOperation final : public collectives::Pending {
public:
    PendingOperation(NodeGroup& group, std::shared_ptr<NodeGroup::Started> started)
        : group_(group), started_(std::move(started)) {}

    Result<bool> test() override {
        if (!started_->result) DET_TRY(group_.progress());
        return started_->result.has_value();
    }
    Status wait() override { return group_.finish(*started_); }

private:
    NodeGroup& group_;
    std::shared_ptr<NodeGroup::Started> started_;
};

}  // namespace

NodeGroup::NodeGroup(RankSlot slot, Options options)
    : RankGroup({slot.rank}, slot.ranks),
      options_(std::move(options)),
      slot_(std::move(slot)),
      losses_(slot_.control, slot_.rank, error_scope(), options_),
      cores_(cores_of(slot_.control)),
      small_below_bytes_(small_below_bytes(slot_.control)) {
    slot_.plan = &plan_;
    slot_.error_scope = &error_scope();
    constexpr int beats_per_limit = 10;
    if (options_.members == Members::processes) {
        heartbeat_.emplace(slot_.control.member(slot_.rank).heartbeat,
                           options_.silence_limit / beats_per_limit);
    }
}

NodeGroup::~NodeGroup() { abandon(); }

void NodeGroup::abandon() noexcept {
    has_left_ = true;
    slot_.control.member(slot_.rank).presence.store(Presence::left, std::memory_order_release);
    slot_.wake();
}

Status NodeGroup::check_usable() const {
    if (has_left_) return Error{codes::misuse, fmt::format("rank {} has left the others", slot_.rank)};
    return losses_.state();
}

Status NodeGroup::wait_for_all(collectives::Call const& reported_call) {
    CollectiveEntry entry;
    entry.begin(reported_call, nullptr);
    Wait wait(slot_, losses_, cores_);
    while (!entry.advance(slot_)) DET_TRY(wait.pause([&] { return entry.awaited(slot_); }, reported_call));
    if (entry.mismatch() != nullptr) return *entry.mismatch();
    return Ok{};
}

collectives::Call NodeGroup::reported_now(collectives::Call const& call) const {
    auto reported_call = error_scope().reported_call(call);
    reported_call.sequence = slot_.sequence - 1;
    return reported_call;
}

bool NodeGroup::is_small_allreduce(collectives::TensorCall const& call) const {
    return call.kind == Kind::allreduce && bytes_of(call.in).size() < small_below_bytes_;
}

Status NodeGroup::allreduce_small(collectives::TensorCall const& call) {
    if (has_left_ || losses_.is_over()) return check_usable();
    constexpr BufferLocation copied{.in = BufferLocation::in_small_buffer, .out = BufferLocation::not_needed};
    auto const in = bytes_of(call.in);
    bool const is_tiny = in.size() <= payload_bytes;
    ++slot_.sequence;
    if (!is_tiny) collectives::copy(slot_.control.small(slot_.sequence, slot_.rank), in.data(), in.size());
    auto const payload = is_tiny ? in : std::as_bytes(std::span(&copied, 1));
    auto const signature = signature_of(reported_now(call_of(call)), false);
    slot_.enter(signature, payload);
    // Prepares the reduction while the cache lines of the other ranks are on their way.
    slot_.claim_next(payload.size());
    std::array<std::byte const*, small_ranks_max> sources;
    for (int rank = 0; rank < slot_.ranks; ++rank) {
        sources[static_cast<std::size_t>(rank)] =
            is_tiny ? slot_.cell(rank).payload.data() : slot_.control.small(slot_.sequence, rank);
    }
    sources[static_cast<std::size_t>(slot_.rank)] = in.data();
    auto const all = std::span(sources).first(static_cast<std::size_t>(slot_.ranks));
    auto const reducer = collectives::reducer_of(call.in.type, call.op);
    if (!poll_all(signature, payload)) DET_TRY(wait_for_all(reported_now(call_of(call))));
    if (is_tiny) {
        reducer(call.out.data, all.data(), all.size(), call.in.count);
    } else {
        slot_.reduce_small_buffers(call, all);
        slot_.claim_next(in.size());
    }
    return Ok{};
}

Status NodeGroup::complete(Operation& operation) {
    if (has_left_ || losses_.is_over()) return check_usable();
    if (!operation.has_begun()) operation.begin(slot_);
    Wait wait(slot_, losses_, cores_);
    for (auto moves = operation.moves(); !operation.advance(slot_);) {
        if (operation.moves() != moves) wait.begin_again();
        moves = operation.moves();
        DET_TRY(wait.pause([&] { return operation.awaited(slot_); }, operation.reported_call()));
    }
    return operation.result();
}

Status NodeGroup::barrier() {
    finish_started();
    if (has_left_ || losses_.is_over()) return check_usable();
    ++slot_.sequence;
    auto const reported_call = reported_now({.kind = Kind::barrier});
    auto const signature = signature_of(reported_call, false);
    slot_.enter(signature, {});
    slot_.claim_next(0);
    return poll_all(signature, {}) ? Ok{} : wait_for_all(reported_call);
}

Status NodeGroup::run(collectives::TensorCall const& call, Status const& refused) {
    if (started_.empty() && refused && is_small_allreduce(call)) return allreduce_small(call);
    return run_in_stages(call, refused);
}

Status NodeGroup::run_in_stages(collectives::TensorCall const& call, Status const& refused) {
    finish_started();
    TensorOperation operation(call, refused);
    return complete(operation);
}

Result<std::vector<std::string>> NodeGroup::run_objects(collectives::Call call, std::string value,
                                                        Status const& refused) {
    finish_started();
    ObjectOperation operation(call, std::move(value), refused);
    DET_TRY(complete(operation));
    return operation.take_values(slot_);
}

Result<std::vector<std::string>> NodeGroup::gather(std::string value, Status const& refused) {
    DET_TRY_ASSIGN(auto values, run_objects({.kind = Kind::gather}, std::move(value), refused));
    if (slot_.rank != 0) values.clear();
    return values;
}

Result<std::vector<std::string>> NodeGroup::allgather(std::string value, Status const& refused) {
    return run_objects({.kind = Kind::allgather}, std::move(value), refused);
}

Result<std::string> NodeGroup::broadcast(std::string value, Rank from, Status const& refused) {
    DET_TRY_ASSIGN(auto values, run_objects({.root = from.value, .kind = Kind::broadcast_object},
                                            std::move(value), refused));
    return std::move(values[static_cast<std::size_t>(from.value)]);
}

collectives::Handle NodeGroup::start(collectives::TensorCall const& call, Status const& refused) {
    auto started = std::make_shared<Started>();
    started->operation = std::make_unique<TensorOperation>(call, refused);
    started_.push_back(started);
    // An Error of progress() is ignored here: the handles report it.
    static_cast<void>(progress());
    return collectives::Handle(std::make_unique<PendingOperation>(*this, std::move(started)));
}

void NodeGroup::complete_first(Status result) {
    started_.front()->result = std::move(result);
    started_.front()->operation.reset();
    started_.pop_front();
}

Status NodeGroup::progress() {
    DET_TRY(losses_.state());
    while (!started_.empty()) {
        auto& operation = *started_.front()->operation;
        if (!operation.has_begun()) {
            operation.begin(slot_);
            losses_.begin();
        }
        if (!operation.advance(slot_))
            return losses_.check(operation.awaited(slot_), operation.reported_call());
        complete_first(operation.result());
    }
    return Ok{};
}

Status NodeGroup::finish(Started const& wanted) {
    while (!wanted.result) complete_first(complete(*started_.front()->operation));
    return *wanted.result;
}

void NodeGroup::finish_started() {
    while (!started_.empty()) complete_first(complete(*started_.front()->operation));
}

void NodeGroup::finish_users_of(Bytes memory) {
    while (std::ranges::any_of(started_, [&](auto const& each) { return each->operation->uses(memory); }))
        complete_first(complete(*started_.front()->operation));
}

std::string NodeGroup::algorithm_name(collectives::TensorCall const& call) const {
    constexpr std::string_view names[] = {"with the entry", "one copy", "no copy",
                                          "pipeline"};  // by DataPath
    auto const path = TensorOperation(call, Ok{}).path_if_ranks_are_alike(slot_);
    return fmt::format("shared memory, {}", names[static_cast<std::size_t>(path)]);
}

Result<collectives::Buffer> NodeGroup::allocate(std::size_t size_bytes) {
    if (size_bytes == 0) return collectives::Buffer{};
    if (!slot_.arena) {
        DET_TRY_ASSIGN(auto own, collectives::allocate_private(size_bytes));
        auto const bytes = own.bytes();
        auto const kept = std::make_shared<collectives::Buffer>(std::move(own));
        return collectives::Buffer(bytes, [this, kept](std::span<std::byte> all) { finish_users_of(all); });
    }
    DET_TRY_ASSIGN(auto memory, slot_.arena->allocate(size_bytes));
    return collectives::Buffer(memory, [this](std::span<std::byte> bytes) {
        finish_users_of(bytes);
        slot_.arena->release(bytes);
    });
}

Result<std::uint64_t> NodeFlags::wait(int local_rank, IsEnough is_enough,
                                      collectives::NamedCall const& call) {
    // If ranks call at the same time, they see each other's flags after one transfer of a cache line.
    constexpr int polls_max = 300;
    for (int polls = 0; polls < polls_max && cores_ == Cores::own; ++polls) {
        if (auto const value = read(local_rank); is_enough(value, call.number)) return value;
    }
    DET_TRY(group_.check_usable());
    Wait wait(slot_, losses_, cores_);
    for (;;) {
        auto const value = read(local_rank);
        if (is_enough(value, call.number)) return value;
        // The awaited rank may wait for this rank's part of a started operation.
        DET_TRY(group_.progress());
        DET_TRY(wait.pause([&] { return std::vector<int>{local_rank}; }, call));
    }
}

}  // namespace det::collectives::node
