#include "hash_thread.hpp"

#include <det/foundation/thread.hpp>

#include <system_error>
#include <utility>

namespace det::pack {
namespace {

// 8 MiB: on a busy machine the thread may wait long for a CPU, and the other threads should not wait for it.
constexpr std::size_t buffers_max = 16;

}  // namespace

std::vector<char> HashThread::take_buffer() {
    std::unique_lock lock(mutex_);
    if (empty_.empty() && buffers_ < buffers_max) {
        ++buffers_;
        lock.unlock();
        return std::vector<char>(block_bytes);
    }
    changed_.wait(lock, [&] { return !empty_.empty(); });
    auto buffer = std::move(empty_.back());
    empty_.pop_back();
    return buffer;
}

void HashThread::hash(std::vector<char> block) {
    if (!thread_.joinable()) start();
    if (!thread_.joinable()) {
        hash_.update({block.data(), block.size()});
        empty_.push_back(std::move(block));
        return;
    }
    {
        std::lock_guard const lock(mutex_);
        full_.push_back(std::move(block));
    }
    changed_.notify_all();
}

std::string HashThread::finish(std::string_view rest) {
    stop();
    hash_.update(rest);
    return hash_.finish();
}

/// If the user is at the limit of threads, the caller hashes.
void HashThread::start() {
    try {
        thread_ = start_thread("det-hash", [this](auto const&) { run(); });
    } catch (std::system_error const&) {
    }
}

void HashThread::stop() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard const lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void HashThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_ending_ || !full_.empty(); });
        if (full_.empty()) return;
        auto blocks = std::exchange(full_, {});
        lock.unlock();
        for (auto const& block : blocks) hash_.update({block.data(), block.size()});
        lock.lock();
        for (auto& block : blocks) empty_.push_back(std::move(block));
        changed_.notify_all();
    }
}

}  // namespace det::pack
