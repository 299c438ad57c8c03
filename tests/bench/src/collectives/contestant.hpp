#pragma once
#include <cstddef>
#include <memory>
#include <span>

namespace det::bench {

/// One rank of a measured implementation. An error ends the process with a message.
class Contestant {
public:
    virtual ~Contestant() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// Memory of zeros, owned by this object. \param own_allocator use the allocator of the implementation if
    /// it has one.
    virtual std::span<float> memory(std::size_t count, bool own_allocator) = 0;
    virtual void allreduce(std::span<float> values) = 0;
    /// Gathers values of different sizes. `sizes` has the size of each rank. Returns the number of received
    /// bytes.
    virtual std::size_t allgather(std::span<char const> value, std::span<int const> sizes) = 0;
};

std::unique_ptr<Contestant> make_contestant(int argc, char** argv);

}  // namespace det::bench
