#pragma once
#include <det/foundation/sha256.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace det::pack {

/// Hashes blocks in the order in which they are given, on a thread of its own. It has a number of buffers and
/// no more: who is faster waits.
class HashThread {
public:
    static constexpr std::size_t block_bytes = std::size_t{512} << 10;

    HashThread() = default;
    HashThread(HashThread const&) = delete;
    HashThread& operator=(HashThread const&) = delete;
    ~HashThread() { stop(); }

    /// A buffer of block_bytes.
    std::vector<char> take_buffer();
    /// Takes the buffer back. What fits into one block starts no thread: that is for finish().
    void hash(std::vector<char> block);
    /// The hash of all blocks and of what comes behind them.
    std::string finish(std::string_view rest);

private:
    void start();
    void stop();
    void run();

    Sha256 hash_;  // the thread's while there is one
    std::jthread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<char>> full_, empty_;
    std::size_t buffers_ = 0;  // that were ever made
    bool is_ending_ = false;
};

}  // namespace det::pack
