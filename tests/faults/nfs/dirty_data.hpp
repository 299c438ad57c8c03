#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace det::faults {

/// The bytes of one file that a host has written and not yet sent to the server.
class DirtyData {
public:
    using Time = std::chrono::steady_clock::time_point;

    void write(std::uint64_t offset, std::string_view bytes, Time now);
    /// Replaces the bytes of `buffer`, whose first one is that at `offset` of the file, by the written ones.
    void overlay(std::uint64_t offset, std::span<char> buffer) const;

    bool is_empty() const { return extents_.empty(); }
    /// The offset after the last byte; 0: there is none.
    std::uint64_t end() const;
    std::uint64_t size_bytes() const;
    /// When the oldest byte was written.
    Time since() const { return since_; }
    /// By offset. They neither overlap nor touch.
    std::map<std::uint64_t, std::string> const& extents() const { return extents_; }
    void clear() { extents_.clear(); }

private:
    std::map<std::uint64_t, std::string> extents_;
    Time since_;
};

}  // namespace det::faults
