#include <det/collectives/distributed_context.hpp>

#include <fmt/format.h>
#include <limits>

#include "communicator.hpp"

namespace det::collectives {
namespace {

Status check_memory(Tensor tensor) {
    constexpr std::size_t memory_limit_bytes = std::numeric_limits<std::ptrdiff_t>::max();
    if (tensor.count > memory_limit_bytes / size_of(tensor.type)) {
        return Error{codes::misuse,
                     fmt::format("{} elements of {} fit no memory", tensor.count, name_of(tensor.type))};
    }
    if (tensor.data == nullptr && tensor.count != 0) {
        return Error{codes::misuse, fmt::format("{} elements at a null pointer", tensor.count)};
    }
    return Ok{};
}

Status check_reduction(Tensor tensor, ReduceOp op) {
    DET_TRY(check_memory(tensor));
    if (op == ReduceOp::mean && !is_floating(tensor.type)) {
        return Error{codes::misuse, fmt::format("there is no mean of {}", name_of(tensor.type)),
                     "reduce by sum and divide"};
    }
    return Ok{};
}

Status check_root(Rank root, int size) {
    if (root.value >= 0 && root.value < size) return Ok{};
    return Error{codes::misuse,
                 fmt::format("rank {} cannot broadcast: there are {} ranks", root.value, size)};
}

Status check_broadcast(Tensor tensor, Rank root, int size) {
    DET_TRY(check_memory(tensor));
    return check_root(root, size);
}

}  // namespace

DistributedContext::DistributedContext(std::unique_ptr<Communicator> communicator, Topology topology)
    : communicator_(std::move(communicator)), topology_(topology) {}
DistributedContext::DistributedContext(DistributedContext&&) noexcept = default;
DistributedContext& DistributedContext::operator=(DistributedContext&&) noexcept = default;
DistributedContext::~DistributedContext() = default;

DistributedContext DistributedContext::single() { return {nullptr, {}}; }

Result<DistributedContext> DistributedContext::make(std::unique_ptr<transport::Transport> transport,
                                                    Topology topology, Tuning tuning) {
    DET_TRY(check(topology, *transport));
    if (tuning.segment_bytes == 0) return Error{codes::misuse, "segments of 0 bytes"};
    return DistributedContext(std::make_unique<Communicator>(std::move(transport), tuning), topology);
}

Rank DistributedContext::rank() const { return communicator_ ? communicator_->transport().rank() : chief; }
int DistributedContext::size() const { return communicator_ ? communicator_->transport().size() : 1; }

Result<std::vector<std::string>> DistributedContext::gather(std::string value) {
    if (size() < 2) return std::vector<std::string>{std::move(value)};
    return communicator_->gather(std::move(value));
}

Result<std::vector<std::string>> DistributedContext::allgather(std::string value) {
    if (size() < 2) return std::vector<std::string>{std::move(value)};
    return communicator_->allgather(std::move(value));
}

Result<std::string> DistributedContext::broadcast(std::string value, Rank from) {
    auto const refused = check_root(from, size());
    if (size() >= 2) return communicator_->broadcast(std::move(value), from, refused);
    DET_TRY(refused);
    return value;
}

Status DistributedContext::barrier() { return size() < 2 ? Status(Ok{}) : communicator_->barrier(); }

Status DistributedContext::allreduce(Tensor tensor, ReduceOp op) {
    auto const refused = check_reduction(tensor, op);
    return size() < 2 ? refused : communicator_->allreduce(tensor, op, refused);
}

Status DistributedContext::broadcast(Tensor tensor, Rank from) {
    auto const refused = check_broadcast(tensor, from, size());
    return size() < 2 ? refused : communicator_->broadcast(tensor, from, refused);
}

Status DistributedContext::broadcast(std::span<std::byte> bytes, Rank from) {
    return broadcast(Tensor{bytes.data(), bytes.size(), DataType::uint8}, from);
}

void DistributedContext::abandon() noexcept {
    if (communicator_) communicator_->transport().abandon();
}

}  // namespace det::collectives
