#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace det::collectives {

/// Memory from DistributedContext::allocate() or allocate_private(), zeroed when it is allocated, and aligned
/// to 4096 bytes. Memory of a context: if the ranks of a node communicate through shared memory, they can all
/// read it, so that collectives on large data need no intermediate copy. The destructor waits for started
/// operations that use it, and for those that were started before them. Such a Buffer must be destroyed
/// before its context. All other memory is private to the process.
class Buffer {
public:
    using Release = std::function<void(std::span<std::byte>)>;

    Buffer() = default;
    Buffer(std::span<std::byte> memory, Release release) : memory_(memory), release_(std::move(release)) {}
    Buffer(Buffer&& other) noexcept
        : memory_(std::exchange(other.memory_, {})), release_(std::exchange(other.release_, nullptr)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(release_, other.release_);
        return *this;
    }
    ~Buffer() {
        if (release_) release_(memory_);
    }

    std::span<std::byte> bytes() const { return memory_; }
    /// The memory as elements of type T, as many as fit.
    template <class T>
    std::span<T> as() const {
        return {reinterpret_cast<T*>(memory_.data()), memory_.size() / sizeof(T)};
    }

private:
    std::span<std::byte> memory_;
    Release release_;
};

}  // namespace det::collectives
