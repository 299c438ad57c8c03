#pragma once
#include <det/foundation/sha256.hpp>
#include <det/pack/context_tree.hpp>

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "compressor.hpp"

namespace det::pack {

inline constexpr std::size_t tar_block_bytes = 512;

/// The blocks before a member's bytes: GNU's long names for a path or link target of more than 100 bytes,
/// then a ustar header. Owner 0, the same time for all members. Pure.
std::string render_tar_header(Member const& member);

/// Zeros after a member's bytes up to a whole block.
std::string tar_padding(std::uint64_t size_bytes);

/// The two empty blocks at the end of an archive.
std::string tar_end();

/// Hashes blocks in their order on a thread of its own. The number of buffers is limited: the caller waits if
/// it is faster than the thread.
class HashThread {
public:
    static constexpr std::size_t block_bytes = std::size_t{512} << 10;

    HashThread() = default;
    HashThread(HashThread const&) = delete;
    HashThread& operator=(HashThread const&) = delete;
    ~HashThread() { stop(); }

    /// A buffer of block_bytes.
    std::vector<char> take_buffer();
    /// Hashes and reuses the buffer. The first call starts the thread. For an archive of less than a block
    /// only finish() is called, without a thread.
    void hash(std::vector<char> block);
    /// \return The hash of all blocks and of `rest`.
    std::string finish(std::string_view rest);

private:
    void start();
    void stop();
    void run();

    Sha256 hash_;  // owned by the thread while it runs
    std::jthread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<char>> full_, empty_;
    std::size_t buffers_ = 0;  // allocated so far
    bool is_ending_ = false;
};

/// Compresses and hashes the written bytes in parallel.
class ArchiveWriter {
public:
    /// Writes about `size_bytes` to the file `fd`, which the caller owns.
    ArchiveWriter(int fd, std::string path, std::uint64_t size_bytes);

    Status write(std::string_view bytes);
    /// \return A buffer of at least one byte. The caller writes the next bytes into it and passes their
    /// number to advance().
    std::span<char> write_buffer();
    Status advance(std::size_t size_bytes);

    struct Finished {
        std::string sha256;  // of the written bytes
        std::uint64_t file_size_bytes = 0;
    };
    Result<Finished> finish();

private:
    Compressor compressor_;
    HashThread hash_;
    std::vector<char> block_;
    std::size_t used_ = 0;  // bytes of block_
};

}  // namespace det::pack
