#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace det::collectives {

/// Memory that a context gave out: on one node all ranks see it, so that collectives on it copy nothing.
/// Begins with zeros, aligned to 4096 bytes. Ends before its context does, and not
/// before operations that were started with it: it waits for them.
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
    /// As elements, as many as fit.
    template <class T>
    std::span<T> as() const {
        return {reinterpret_cast<T*>(memory_.data()), memory_.size() / sizeof(T)};
    }

private:
    std::span<std::byte> memory_;
    Release release_;
};

}  // namespace det::collectives
