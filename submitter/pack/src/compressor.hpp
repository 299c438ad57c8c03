#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det::pack {

/// Compresses a stream into a file, with zstd's threads if the stream is large enough.
class Compressor {
public:
    /// Prepares to compress about `size_bytes` bytes. The caller owns the file; `path` is its name in
    /// messages.
    Compressor(int fd, std::string path, std::uint64_t size_bytes);

    Status write(std::string_view bytes) { return run(bytes, false); }
    Status finish() { return run({}, true); }
    /// \return The number of compressed bytes written so far.
    std::uint64_t size_bytes() const { return written_bytes_; }

private:
    struct Free {
        void operator()(void* context) const;
    };
    Status run(std::string_view bytes, bool is_end);
    Status put(std::string_view bytes);

    int fd_;
    std::string path_;
    std::unique_ptr<void, Free> context_;
    std::vector<char> out_;
    std::uint64_t written_bytes_ = 0;
    std::uint64_t writeback_bytes_ = 0;  // bytes for which writeback was started
};

/// \return The hash of a compressed file's contents; an error if it is damaged.
Result<std::string> hash_decompressed(std::string const& path);

}  // namespace det::pack
