#pragma once
#include <det/foundation/repeat_write.hpp>
#include <det/foundation/result.hpp>
#include <det/foundation/thread_pool.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "block_file.hpp"

namespace det::checkpoint {

/// Writes a file from memory to the disk in the background. Several threads compute checksums of blocks and
/// write them as the blocks become available. The file has a temporary name until all of it is on the disk.
class ShardWrite : public std::enable_shared_from_this<ShardWrite> {
public:
    /// \param open returns the directory; called on a thread of the pool
    /// \param put called when the file is on the disk; not called for a file that is shared
    /// \param bytes must stay valid until is_done(); available bytes must not change until then. Must be
    ///     readable up to the end of the last page
    ShardWrite(std::function<Result<std::filesystem::path>()> open,
               std::function<Status(CheckpointFile&)> put, std::string name, std::byte const* bytes,
               std::uint64_t size_bytes, std::uint64_t block_size_bytes);

    /// The write of the same shard for the previous checkpoint.
    struct PreviousWrite {
        std::shared_ptr<ShardWrite const> write;
        std::string uuid;
        std::function<Result<bool>()> share;  // calls Store::share_file
    };
    /// If the file system can't take the file, the whole file is written again: after a failed sync the bytes
    /// of earlier writes may be lost, and a partial file would take space from others. Called before start().
    void set_retry(WriteRetry retry) { retry_ = std::move(retry); }
    /// Compares the bytes with those of the previous write: if they are equal and that write has succeeded,
    /// the file is shared and not written. Called before start(). The bytes of the previous write must stay
    /// valid until wait_until_compared() returns.
    void share_if_equal(PreviousWrite before) { previous_ = std::move(before); }

    void start(ThreadPool& pool);
    /// Called when the first size_bytes are available: their blocks can be written.
    void on_available(std::uint64_t size_bytes);
    /// Called if the rest of the bytes will never be available: the write fails with this error.
    void on_missing(Error error);
    /// Gives the write up: no further block is written, and the write fails with codes::interrupted unless it
    /// is done or has failed already.
    void give_up();

    bool is_done() const;
    /// Blocks until is_done().
    /// \return codes::timed_out after `limit`
    Status wait(std::chrono::milliseconds limit);
    /// Blocks until the bytes of the previous write are no longer needed.
    /// \return codes::timed_out after `limit`
    Status wait_until_compared(std::chrono::milliseconds limit);
    /// The file, or the error of the write. Called when is_done().
    Result<CheckpointFile> result() const;

private:
    void open(ThreadPool& pool);
    void begin_attempt(ThreadPool& pool);
    void end_attempt(ThreadPool& pool);
    bool wait_for_next_attempt();
    /// Blocks until the first size_bytes are available.
    /// \return false if the write has failed
    bool wait_until_available(std::uint64_t size_bytes);
    template <class Condition>
    Status wait_for(std::chrono::milliseconds limit, Condition const& condition);
    Result<bool> share_with_previous();
    bool is_equal_to_previous() const;
    void forget_previous();
    Status create();
    void write_blocks(ThreadPool& pool);
    Status write_block(std::size_t block);
    Status move_to_final_name();
    void fail(Error error);
    void end();

    std::function<Result<std::filesystem::path>()> const open_directory_;
    std::function<Status(CheckpointFile&)> const put_;
    std::filesystem::path directory_;
    std::byte const* const bytes_;
    CheckpointFile file_;
    std::optional<BlockFile> output_;
    std::atomic<std::size_t> next_block_ = 0;
    std::atomic<int> running_threads_ = 0;
    std::atomic<bool> failed_ = false;  // this attempt
    WriteRetry retry_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t available_bytes_ = 0;
    std::optional<PreviousWrite> previous_;  // empty after the comparison
    std::optional<Error> error_;
    std::optional<std::chrono::steady_clock::time_point> give_up_at_;  // since the first failed attempt
    bool is_last_attempt_ = false;                                     // given up, or its bytes are missing
    bool is_done_ = false;
};

}  // namespace det::checkpoint
