#include "group.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "object_operation.hpp"
#include "tensor_operation.hpp"

namespace det::collectives::node {
namespace {

using collectives::Kind;

constexpr int ranks_of_little = 16;  // more would read too much

std::size_t little_below_bytes(Segment const& segment) {
    if (segment.ranks() > ranks_of_little) return 0;
    return std::max(std::min(shared_from_bytes, segment.geometry().small_limit_bytes + 1), payload_bytes + 1);
}

class Handed final : public collectives::Pending {
public:
    Handed(NodeGroup& group, std::shared_ptr<NodeGroup::Started> started)
        : group_(group), started_(std::move(started)) {}

    Result<bool> test() override {
        if (!started_->result) DET_TRY(group_.go_on());
        return started_->result.has_value();
    }
    Status wait() override { return group_.finish(*started_); }

private:
    NodeGroup& group_;
    std::shared_ptr<NodeGroup::Started> started_;
};

}  // namespace

NodeGroup::NodeGroup(Seat seat, Options options)
    : RankGroup({seat.rank}, seat.ranks),
      options_(std::move(options)),
      seat_(std::move(seat)),
      watch_(seat_.segment, seat_.rank, voice(), options_,
             options_.members == Members::processes ? watch_processes(seat_.segment) : watch_nothing()),
      cores_(cores_of(seat_.segment)),
      little_below_bytes_(little_below_bytes(seat_.segment)) {
    seat_.plan = &plan_;
    seat_.voice = &voice();
    constexpr int beats_per_limit = 10;
    if (options_.members == Members::processes) {
        heartbeat_.emplace(seat_.segment.member(seat_.rank).heartbeat,
                           options_.silence_limit / beats_per_limit);
    }
}

NodeGroup::~NodeGroup() { abandon(); }

void NodeGroup::abandon() noexcept {
    has_left_ = true;
    seat_.segment.member(seat_.rank).presence.store(Presence::left, std::memory_order_release);
    seat_.wake();
}

Status NodeGroup::check_usable() const {
    if (has_left_) return Error{codes::misuse, fmt::format("rank {} has left the others", seat_.rank)};
    return watch_.state();
}

Status NodeGroup::await_all(collectives::Call const& said) {
    Arrival arrival;
    arrival.begin(said, nullptr);
    Wait wait(seat_, watch_, cores_);
    while (!arrival.advance(seat_)) DET_TRY(wait.pause([&] { return arrival.awaited(seat_); }, said));
    if (arrival.objection() != nullptr) return *arrival.objection();
    return Ok{};
}

collectives::Call NodeGroup::said_now(collectives::Call const& call) const {
    auto said = voice().said_as(call);
    said.sequence = seat_.sequence - 1;
    return said;
}

bool NodeGroup::is_little(collectives::TensorCall const& call) const {
    return call.kind == Kind::allreduce && bytes_of(call.in).size() < little_below_bytes_;
}

Status NodeGroup::reduce_little(collectives::TensorCall const& call) {
    if (has_left_ || watch_.is_over()) return check_usable();
    constexpr Offer copied{.in = Offer::in_small_buffer, .out = Offer::somewhere};
    auto const in = bytes_of(call.in);
    bool const is_tiny = in.size() <= payload_bytes;
    ++seat_.sequence;
    if (!is_tiny) collectives::copy(seat_.segment.small(seat_.sequence, seat_.rank), in.data(), in.size());
    auto const payload = is_tiny ? in : std::as_bytes(std::span(&copied, 1));
    auto const stamp = stamp_of(said_now(call_of(call)), false);
    seat_.arrive(stamp, payload);
    // What follows is made ready while the lines of the others are on their way.
    seat_.claim_next(payload.size());
    std::array<std::byte const*, ranks_of_little> sources;
    for (int rank = 0; rank < seat_.ranks; ++rank) {
        sources[static_cast<std::size_t>(rank)] =
            is_tiny ? seat_.cell(rank).payload.data() : seat_.segment.small(seat_.sequence, rank);
    }
    sources[static_cast<std::size_t>(seat_.rank)] = in.data();
    auto const all = std::span(sources).first(static_cast<std::size_t>(seat_.ranks));
    auto const reducer = collectives::reducer_of(call.in.type, call.op);
    if (!see_all(stamp, payload)) DET_TRY(await_all(said_now(call_of(call))));
    if (is_tiny) {
        reducer(call.out.data, all.data(), all.size(), call.in.count);
    } else {
        seat_.reduce_small(call, all);
        seat_.claim_next(in.size());
    }
    return Ok{};
}

Status NodeGroup::complete(Operation& operation) {
    if (has_left_ || watch_.is_over()) return check_usable();
    if (!operation.has_begun()) operation.begin(seat_);
    Wait wait(seat_, watch_, cores_);
    for (auto moves = operation.moves(); !operation.advance(seat_);) {
        if (operation.moves() != moves) wait.begin_again();
        moves = operation.moves();
        DET_TRY(wait.pause([&] { return operation.awaited(seat_); }, operation.said()));
    }
    return operation.result();
}

Status NodeGroup::barrier() {
    finish_started();
    if (has_left_ || watch_.is_over()) return check_usable();
    ++seat_.sequence;
    auto const said = said_now({.kind = Kind::barrier});
    auto const stamp = stamp_of(said, false);
    seat_.arrive(stamp, {});
    seat_.claim_next(0);
    return see_all(stamp, {}) ? Ok{} : await_all(said);
}

Status NodeGroup::run(collectives::TensorCall const& call, Status const& refused) {
    if (started_.empty() && refused && is_little(call)) return reduce_little(call);
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
    return operation.take_values(seat_);
}

Result<std::vector<std::string>> NodeGroup::gather(std::string value) {
    DET_TRY_ASSIGN(auto values, run_objects({.kind = Kind::gather}, std::move(value), Ok{}));
    if (seat_.rank != 0) values.clear();
    return values;
}

Result<std::vector<std::string>> NodeGroup::allgather(std::string value) {
    return run_objects({.kind = Kind::allgather}, std::move(value), Ok{});
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
    // What ends the group is told by the handles.
    static_cast<void>(go_on());
    return collectives::Handle(std::make_unique<Handed>(*this, std::move(started)));
}

void NodeGroup::end_first(Status result) {
    started_.front()->result = std::move(result);
    started_.front()->operation.reset();
    started_.pop_front();
}

Status NodeGroup::go_on() {
    DET_TRY(watch_.state());
    while (!started_.empty()) {
        auto& operation = *started_.front()->operation;
        if (!operation.has_begun()) {
            operation.begin(seat_);
            watch_.begin();
        }
        if (!operation.advance(seat_)) return watch_.look(operation.awaited(seat_), operation.said());
        end_first(operation.result());
    }
    return Ok{};
}

Status NodeGroup::finish(Started const& wanted) {
    while (!wanted.result) end_first(complete(*started_.front()->operation));
    return *wanted.result;
}

void NodeGroup::finish_started() {
    while (!started_.empty()) end_first(complete(*started_.front()->operation));
}

void NodeGroup::finish_users_of(Bytes memory) {
    while (std::ranges::any_of(started_, [&](auto const& each) { return each->operation->uses(memory); }))
        end_first(complete(*started_.front()->operation));
}

std::string NodeGroup::way_of(collectives::TensorCall const& call) const {
    constexpr std::string_view names[] = {"with the arrival", "one copy", "no copy", "pipeline"};  // by Way
    auto const way = TensorOperation(call, Ok{}).likely_way(seat_);
    return fmt::format("shared memory, {}", names[static_cast<std::size_t>(way)]);
}

Result<collectives::Buffer> NodeGroup::allocate(std::size_t size_bytes) {
    if (size_bytes == 0) return collectives::Buffer{};
    if (!seat_.arena) {
        DET_TRY_ASSIGN(auto own, collectives::allocate_private(size_bytes));
        auto const bytes = own.bytes();
        auto const kept = std::make_shared<collectives::Buffer>(std::move(own));
        return collectives::Buffer(bytes, [this, kept](std::span<std::byte> all) { finish_users_of(all); });
    }
    DET_TRY_ASSIGN(auto memory, seat_.arena->allocate(size_bytes));
    return collectives::Buffer(memory, [this](std::span<std::byte> bytes) {
        finish_users_of(bytes);
        seat_.arena->release(bytes);
    });
}

}  // namespace det::collectives::node
