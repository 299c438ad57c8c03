#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace det::checkpoint {

/// The messages between ranks that saving and loading need. core implements it with collectives.
///
/// Every call is collective: all ranks make the same calls in the same order. If the exchange fails, all
/// ranks get an error. Thread safety: one thread at a time.
class Peers {
public:
    virtual ~Peers() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// \return the values of all ranks in rank order on rank 0; empty on the other ranks
    virtual Result<std::vector<std::string>> gather(std::string value) = 0;
    /// \return the values of all ranks in rank order
    virtual Result<std::vector<std::string>> allgather(std::string value) = 0;
    /// \return the value of rank 0
    virtual Result<std::string> broadcast(std::string value) = 0;
    /// Replaces each value with the smallest of all ranks. Must be cheap, because a training loop may call
    /// Saver::poll() at every step.
    virtual Status allreduce_min(std::span<std::int64_t> values) = 0;

    bool is_chief() const { return rank() == 0; }
};

/// The peers of a single rank.
class NoPeers final : public Peers {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    Result<std::vector<std::string>> gather(std::string value) override {
        return std::vector{std::move(value)};
    }
    Result<std::vector<std::string>> allgather(std::string value) override {
        return gather(std::move(value));
    }
    Result<std::string> broadcast(std::string value) override { return value; }
    Status allreduce_min(std::span<std::int64_t>) override { return Ok{}; }
};

}  // namespace det::checkpoint
