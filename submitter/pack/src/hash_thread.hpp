#pragma once
#include <det/foundation/sha256.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace det::pack {

/// Hashes blocks in their order on a thread of its own. The number of buffers is fixed: the caller waits if
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
    /// Hashes and reuses the buffer. A single block starts no thread: finish() hashes it.
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

}  // namespace det::pack
