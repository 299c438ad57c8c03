#pragma once
#include <cstddef>
#include <memory>
#include <span>

namespace det::bench {

/// One of those that are measured, as one rank of it. Errors end the process with a message.
class Contestant {
public:
    virtual ~Contestant() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// Zeros that live as long as this; `its_own`: from its allocator, if it has one.
    virtual std::span<float> memory(std::size_t count, bool its_own) = 0;
    virtual void allreduce(std::span<float> values) = 0;
    /// What every rank puts in has another size, which all know; how many bytes came.
    virtual std::size_t allgather(std::span<char const> value, std::span<int const> sizes) = 0;
};

std::unique_ptr<Contestant> make_contestant(int argc, char** argv);

}  // namespace det::bench
