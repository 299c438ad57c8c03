#pragma once
#include <det/foundation/files.hpp>

#include <cstring>
#include <filesystem>
#include <linux/fuse.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::faults {

/// A request of the kernel: fuse_in_header, a structure that depends on the operation, and names.
class FuseRequest {
public:
    explicit FuseRequest(std::string bytes) : bytes_(std::move(bytes)) {}

    fuse_in_header header() const { return read_at<fuse_in_header>(0); }
    /// The structure that follows the header.
    template <class Argument>
    Argument argument() const {
        return read_at<Argument>(sizeof(fuse_in_header));
    }
    /// What follows the header and a structure of `size_bytes`.
    std::string_view rest(std::size_t size_bytes) const {
        return std::string_view(bytes_).substr(std::min(bytes_.size(), sizeof(fuse_in_header) + size_bytes));
    }
    /// The names that follow the header and a structure of `size_bytes`; each ends with a zero.
    std::vector<std::string> names(std::size_t size_bytes = 0) const;

private:
    template <class Value>
    Value read_at(std::size_t offset) const {
        Value value{};
        if (bytes_.size() >= offset + sizeof value) std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }

    std::string bytes_;
};

/// The answer to a request.
struct FuseAnswer {
    int error = 0;      // an errno; 0: success
    std::string bytes;  // a structure or data; only after a success
    bool is_absent = false;

    static FuseAnswer none() { return {0, {}, true}; }
    static FuseAnswer failure(int error) { return {error, {}, false}; }
    template <class Value>
    static FuseAnswer of(Value const& value) {
        return {0, std::string(reinterpret_cast<char const*>(&value), sizeof value), false};
    }
};

/// A mounted FUSE file system. Uses the kernel's protocol (linux/fuse.h) without libfuse, so that the program
/// runs in the root file systems of all Slurm releases that the loopback site has.
class FuseChannel {
public:
    static constexpr std::uint32_t write_max_bytes = 128 << 10;

    /// Mounts over the directory, for all users. Needs root.
    static Result<FuseChannel> mount(std::filesystem::path const& directory);
    FuseChannel(FuseChannel&&) = default;
    FuseChannel& operator=(FuseChannel&&) = delete;
    /// Unmounts; requests without an answer fail with ECONNABORTED.
    ~FuseChannel();

    /// Becomes readable when a request waits.
    int fd() const { return device_.get(); }
    /// nullopt: no request waits. An error: it is no longer mounted.
    Result<std::optional<FuseRequest>> receive();
    void answer(std::uint64_t request, FuseAnswer const& answer) const;

private:
    FuseChannel(UniqueFd device, std::filesystem::path directory);

    UniqueFd device_;
    std::filesystem::path directory_;
    std::string buffer_;
};

/// Removes FUSE file systems that are mounted over the directory and whose program has ended.
void unmount_dead(std::filesystem::path const& directory);

}  // namespace det::faults
