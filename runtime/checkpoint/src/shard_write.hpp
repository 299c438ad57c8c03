#pragma once
#include <det/foundation/result.hpp>
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
#include "thread_pool.hpp"

namespace det::checkpoint {

/// A file on its way from memory to the disk. Its blocks are checksummed and written by several threads as
/// they come; it gets its name when all of it is on the disk.
class ShardWrite : public std::enable_shared_from_this<ShardWrite> {
public:
    /// `bytes` stays valid until is_done(), what is there of it unchanged; it is readable up to the end of
    /// its last page. `open` gives the directory, `put` comes when the file is there.
    ShardWrite(std::function<Result<std::filesystem::path>()> open, std::function<Status()> put,
               std::string name, std::byte const* bytes, std::uint64_t size_bytes,
               std::uint64_t block_size_bytes);

    /// The same shard as it was written before, into another checkpoint.
    struct Before {
        std::shared_ptr<ShardWrite const> write;
        std::string uuid;
        std::function<Result<bool>()> share;  // Store::share
    };
    /// Before start(): what has not changed since then is not written again. The bytes of that write stay
    /// until wait_until_compared() returns.
    void compare_with(Before before) { before_ = std::move(before); }

    void start(ThreadPool& pool);
    /// So many bytes are there, from the first on: their blocks can be written.
    void on_there(std::uint64_t size_bytes);
    /// The rest of the bytes will not come.
    void on_missing(Error error);
    /// Takes no further block: what is not written stays unwritten.
    void give_up();

    bool is_done() const;
    /// codes::timed_out where it is not done then.
    Status wait(std::chrono::milliseconds limit);
    /// The same for that it needs the bytes of the write before no longer.
    Status wait_until_compared(std::chrono::milliseconds limit);
    /// Once it is done.
    Result<CheckpointFile> result() const;

private:
    void open(ThreadPool& pool);
    /// False: they will not come.
    bool wait_until_there(std::uint64_t size_bytes);
    template <class Condition>
    Status wait_for(std::chrono::milliseconds limit, Condition const& condition);
    Result<bool> share_with_before();
    bool is_as_before() const;
    void forget_before();
    Status create();
    void write_blocks();
    Status write_block(std::size_t block);
    void close();
    Status give_name();
    void fail(Error error);
    void end();

    std::function<Result<std::filesystem::path>()> const open_directory_;
    std::function<Status()> const put_;
    std::filesystem::path directory_;
    std::byte const* const bytes_;
    CheckpointFile file_;
    std::optional<BlockFile> out_;
    std::atomic<std::size_t> next_block_ = 0;
    std::atomic<int> lanes_ = 0;
    std::atomic<bool> failed_ = false;

    mutable std::mutex mutex_;
    std::condition_variable news_;
    std::uint64_t there_bytes_ = 0;
    std::optional<Before> before_;  // until it was compared
    std::optional<Error> error_;
    bool is_done_ = false;
};

}  // namespace det::checkpoint
