#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace det::checkpoint {

/// What ranks tell each other to save and load together. Every rank makes the same calls in the same order;
/// an error is one for all of them.
class Peers {
public:
    virtual ~Peers() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// All values in rank order on rank 0; nothing on the others.
    virtual Result<std::vector<std::string>> gather(std::string value) = 0;
    virtual Result<std::vector<std::string>> allgather(std::string value) = 0;
    /// What rank 0 has.
    virtual Result<std::string> broadcast(std::string value) = 0;
    /// In place, the smallest of all ranks' values. Cheap: training calls it at every step.
    virtual Status minimum(std::span<std::int64_t> values) = 0;

    bool is_chief() const { return rank() == 0; }
};

/// One rank that has no others.
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
    Status minimum(std::span<std::int64_t>) override { return Ok{}; }
};

}  // namespace det::checkpoint
