#pragma once
#include <det/collectives/distributed_context.hpp>

#include <optional>
#include <set>

#include "agreement.hpp"

namespace det::collectives {

/// Two ranks or more: each operation is an agreement, and what it leaves to be sent.
class Communicator {
public:
    Communicator(std::unique_ptr<transport::Transport> transport, Tuning tuning);

    transport::Transport& transport() { return *transport_; }

    // `refused` is why this rank could not take part as it was asked to: the others hear of it.
    Result<std::vector<std::string>> gather(std::string value);
    Result<std::vector<std::string>> allgather(std::string value);
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused);
    Status barrier();
    Status allreduce(Tensor tensor, ReduceOp op, Status const& refused);
    Status broadcast(Tensor tensor, Rank from, Status const& refused);

private:
    /// Begins the message of the next operation.
    Channel begin(Call call, Status const& refused);
    Status agree(Channel channel, Merge const& merge);
    Status allreduce_small(Channel channel, Tensor tensor, ReduceOp op);
    Algorithm choose_algorithm(std::size_t size_bytes);
    Status allreduce_large(Channel channel, Tensor tensor, ReduceOp op);
    Status relay_from(Channel channel, transport::MutableBytes bytes, Rank root);
    /// What the agreement brought.
    void copy_payload(transport::MutableBytes into) const;

    std::unique_ptr<transport::Transport> transport_;
    Tuning tuning_;
    std::uint64_t sequence_ = 0;
    Message mine_;
    Message theirs_;
    std::vector<std::byte> segments_;
    std::set<std::size_t> explained_;  // sizes
};

}  // namespace det::collectives
