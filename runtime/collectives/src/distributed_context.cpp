#include <det/collectives/distributed_context.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/liveness/wait_recorder.hpp>

namespace det::collectives {
namespace {

/// A quick form of check() for the most common call, an allreduce in place. Returns false for all other
/// calls, also for valid ones.
bool is_plainly_right(TensorCall const& call) {
    return call.kind == Kind::allreduce && call.in.data == call.out.data && call.in.data != nullptr &&
           call.in.count == call.out.count && call.in.type == call.out.type && is_reducible(call.in.type) &&
           call.op != ReduceOp::mean && is_known(call.op) && call.in.count >> 48 == 0;
}

Status const no_refusal = Ok{};

/// The call with which a rank enters an operation that it refuses: only the kind, as other fields may be
/// invalid.
TensorCall only_kind_of(TensorCall const& call) {
    TensorCall bare;
    bare.kind = call.kind;
    return bare;
}

}  // namespace

DistributedContext::DistributedContext(std::unique_ptr<RankGroup> ranks, Topology topology,
                                       std::shared_ptr<RankGroup> local)
    : ranks_(std::move(ranks)), topology_(topology), local_(std::move(local)) {}
DistributedContext::DistributedContext(DistributedContext&&) noexcept = default;
DistributedContext& DistributedContext::operator=(DistributedContext&&) noexcept = default;
DistributedContext::~DistributedContext() = default;

DistributedContext DistributedContext::single() { return {make_single_rank(), {}, nullptr}; }

Result<DistributedContext> DistributedContext::make(std::unique_ptr<transport::Transport> transport,
                                                    Topology topology, Tuning tuning) {
    DET_TRY_ASSIGN(auto ranks, make_transport_group(std::move(transport), tuning));
    return make(std::move(ranks), topology);
}

Result<DistributedContext> DistributedContext::make(std::unique_ptr<RankGroup> ranks, Topology topology,
                                                    std::shared_ptr<RankGroup> local) {
    DET_TRY(check(topology, ranks->rank(), ranks->size()));
    return DistributedContext(std::move(ranks), topology, std::move(local));
}

DistributedContext DistributedContext::make_subset(std::unique_ptr<RankGroup> part, Topology topology) {
    DistributedContext context(std::move(part), topology, nullptr);
    context.record_operations(recorder_);
    return context;
}

Result<DistributedContext> DistributedContext::local_ranks() {
    if (is_on_one_node()) return make_subset(make_shared_group(ranks_), topology_);
    if (!local_) return ranks_->make_cross_group().error();
    return make_subset(ranks_->with_own_devices(make_shared_group(local_)),
                       {.local_rank = local_rank(), .local_size = local_size()});
}

Result<DistributedContext> DistributedContext::cross_ranks() {
    if (is_on_one_node()) return make_subset(ranks_->with_own_devices(make_single_rank()), {});
    DET_TRY_ASSIGN(auto part, ranks_->make_cross_group());
    Topology const topology{.cross_rank = part->rank().value, .cross_size = part->size()};
    return make_subset(std::move(part), topology);
}

void DistributedContext::wrap_ranks(
    std::function<std::unique_ptr<RankGroup>(std::shared_ptr<RankGroup>)> const& make) {
    ranks_ = make(std::move(ranks_));
}

Status DistributedContext::refuse(std::string message) {
    begin(Kind::allreduce);
    return ranks_->run({}, Error{codes::misuse, std::move(message)});
}

void DistributedContext::record_operations(std::shared_ptr<liveness::WaitRecorder> recorder) {
    recorder_ = std::move(recorder);
}

void DistributedContext::begin(Kind kind) {
    if (recorder_) recorder_->begin_operation(wait_operation_of(kind));
}

Rank DistributedContext::rank() const { return ranks_->rank(); }
int DistributedContext::size() const { return ranks_->size(); }

Result<std::vector<std::string>> DistributedContext::gather(std::string value, Status const& refused) {
    begin(Kind::gather);
    return ranks_->gather(std::move(value), refused);
}

Result<std::vector<std::string>> DistributedContext::allgather(std::string value, Status const& refused) {
    begin(Kind::allgather);
    return ranks_->allgather(std::move(value), refused);
}

Result<std::string> DistributedContext::broadcast(std::string value, Rank from, Status const& refused) {
    begin(Kind::broadcast_object);
    return ranks_->broadcast(std::move(value), from,
                             refused ? check_root(from, "broadcast", size()) : refused);
}

Status DistributedContext::barrier() {
    begin(Kind::barrier);
    return ranks_->barrier();
}

Result<std::vector<std::string>> DistributedContext::allgather_on_node(std::string value,
                                                                       Status const& refused) {
    std::uint32_t const node = static_cast<std::uint32_t>(topology_.cross_rank);
    value.append(reinterpret_cast<char const*>(&node), sizeof node);
    DET_TRY_ASSIGN(auto values, allgather(std::move(value), refused));
    std::vector<std::string> of_node;
    for (auto& other : values) {
        if (!other.ends_with(std::string_view(reinterpret_cast<char const*>(&node), sizeof node))) continue;
        other.resize(other.size() - sizeof node);
        of_node.push_back(std::move(other));
    }
    return of_node;
}

RankGroup& DistributedContext::local_group(Kind kind) {
    begin(kind);
    local_->set_scope(std::nullopt);
    return *local_;
}

Result<std::vector<std::string>> DistributedContext::allgather_local(std::string value,
                                                                     Status const& refused) {
    if (is_on_one_node()) return allgather(std::move(value), refused);
    if (local_) return local_group(Kind::allgather).allgather(std::move(value), refused);
    return allgather_on_node(std::move(value), refused);
}

Result<std::vector<std::string>> DistributedContext::gather_local(std::string value, Status const& refused) {
    if (is_on_one_node()) return gather(std::move(value), refused);
    if (local_) return local_group(Kind::gather).gather(std::move(value), refused);
    DET_TRY_ASSIGN(auto values, allgather_on_node(std::move(value), refused));
    if (!is_local_chief()) values.clear();
    return values;
}

Result<std::string> DistributedContext::broadcast_local(std::string value, Status const& refused) {
    if (is_on_one_node()) return broadcast(std::move(value), chief, refused);
    if (local_) return local_group(Kind::broadcast_object).broadcast(std::move(value), chief, refused);
    DET_TRY_ASSIGN(auto values,
                   allgather_on_node(is_local_chief() ? std::move(value) : std::string(), refused));
    return std::move(values.front());
}

Status DistributedContext::use_stream(void* stream) { return ranks_->use_stream(stream); }

Status DistributedContext::run(TensorCall const& call) {
    if (!is_plainly_right(call)) return run_checked(call);
    if (recorder_) recorder_->begin_operation(liveness::WaitOperation::allreduce);
    return ranks_->run(call, no_refusal);
}

Status DistributedContext::run_checked(TensorCall const& call) {
    begin(call.kind);
    auto const checked = check(call, rank(), size());
    return ranks_->run(checked ? call : only_kind_of(call), checked);
}

Handle DistributedContext::start(TensorCall const& call) {
    begin(call.kind);
    auto const checked = check(call, rank(), size());
    return ranks_->start(checked ? call : only_kind_of(call), checked);
}

Status DistributedContext::allreduce_in_place(void* data, std::size_t count, DataType type, ReduceOp op) {
    return run({.kind = Kind::allreduce, .in = {data, count, type}, .out = {data, count, type}, .op = op});
}

Status DistributedContext::allreduce(ConstTensor in, Tensor out, ReduceOp op) {
    return run({.kind = Kind::allreduce, .in = in, .out = out, .op = op});
}
Status DistributedContext::reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to) {
    return run({.kind = Kind::reduce, .in = in, .out = rank() == to ? out : Tensor{}, .op = op, .root = to});
}
Status DistributedContext::reduce_scatter(ConstTensor all, Tensor part, ReduceOp op) {
    return run({.kind = Kind::reduce_scatter, .in = all, .out = part, .op = op});
}
Status DistributedContext::allgather(ConstTensor part, Tensor all) {
    return run({.kind = Kind::allgather_elements, .in = part, .out = all});
}
Status DistributedContext::all_to_all(ConstTensor in, Tensor out) {
    return run({.kind = Kind::all_to_all, .in = in, .out = out});
}
Status DistributedContext::broadcast(Tensor tensor, Rank from) {
    return run({.kind = Kind::broadcast, .in = tensor, .out = tensor, .root = from});
}
Status DistributedContext::broadcast(std::span<std::byte> bytes, Rank from) {
    return broadcast(Tensor{bytes.data(), bytes.size(), DataType::uint8}, from);
}

Handle DistributedContext::start_allreduce(Tensor tensor, ReduceOp op) {
    return start_allreduce(tensor, tensor, op);
}
Handle DistributedContext::start_allreduce(ConstTensor in, Tensor out, ReduceOp op) {
    return start({.kind = Kind::allreduce, .in = in, .out = out, .op = op});
}
Handle DistributedContext::start_reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to) {
    return start(
        {.kind = Kind::reduce, .in = in, .out = rank() == to ? out : Tensor{}, .op = op, .root = to});
}
Handle DistributedContext::start_reduce_scatter(ConstTensor all, Tensor part, ReduceOp op) {
    return start({.kind = Kind::reduce_scatter, .in = all, .out = part, .op = op});
}
Handle DistributedContext::start_allgather(ConstTensor part, Tensor all) {
    return start({.kind = Kind::allgather_elements, .in = part, .out = all});
}
Handle DistributedContext::start_all_to_all(ConstTensor in, Tensor out) {
    return start({.kind = Kind::all_to_all, .in = in, .out = out});
}
Handle DistributedContext::start_broadcast(Tensor tensor, Rank from) {
    return start({.kind = Kind::broadcast, .in = tensor, .out = tensor, .root = from});
}

std::string DistributedContext::algorithm_name(TensorCall const& call) const {
    return ranks_->algorithm_name(call);
}

Result<Buffer> DistributedContext::allocate(std::size_t size_bytes) { return ranks_->allocate(size_bytes); }

ControlChannel DistributedContext::control_channel() {
    auto channel = ranks_->control_channel();
    if (!is_on_one_node()) channel.flags = local_ ? local_->control_channel().flags : nullptr;
    channel.recorder = recorder_.get();
    return channel;
}

tensor::DeviceCopies* DistributedContext::device_copies() { return ranks_->device_copies(); }

void DistributedContext::abandon() noexcept {
    ranks_->abandon();
    if (local_) local_->abandon();
}

}  // namespace det::collectives
