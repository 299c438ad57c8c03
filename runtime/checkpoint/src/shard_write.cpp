#include "shard_write.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace det::checkpoint {

ShardWrite::ShardWrite(std::function<Result<std::filesystem::path>()> open,
                       std::function<Status(CheckpointFile&)> put, std::string name, std::byte const* bytes,
                       std::uint64_t size_bytes, std::uint64_t block_size_bytes)
    : open_directory_(std::move(open)), put_(std::move(put)), bytes_(bytes) {
    file_.path = std::move(name);
    file_.size_bytes = size_bytes;
    file_.block_size_bytes = block_size_bytes;
    file_.block_crc32c.resize((size_bytes + block_size_bytes - 1) / block_size_bytes);
}

void ShardWrite::start(ThreadPool& pool) {
    pool.submit([self = shared_from_this(), &pool] { self->open(pool); });
}

void ShardWrite::on_available(std::uint64_t size_bytes) {
    {
        std::lock_guard const lock(mutex_);
        available_bytes_ = size_bytes;
    }
    changed_.notify_all();
}

void ShardWrite::on_missing(Error error) {
    {
        std::lock_guard const lock(mutex_);
        is_last_attempt_ = true;
    }
    fail(std::move(error));
    changed_.notify_all();
}

bool ShardWrite::wait_until_available(std::uint64_t size_bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || available_bytes_ >= size_bytes; });
    return !failed_;
}

void ShardWrite::give_up() {
    {
        std::lock_guard const lock(mutex_);
        failed_ = true;
        is_last_attempt_ = true;
    }
    changed_.notify_all();
}

void ShardWrite::forget_previous() {
    {
        std::lock_guard const lock(mutex_);
        previous_.reset();
    }
    changed_.notify_all();
}

bool ShardWrite::is_equal_to_previous() const {
    auto const& other = *previous_->write;
    if (!other.is_done() || !other.result()) return false;
    return other.file_.path == file_.path && other.file_.size_bytes == file_.size_bytes &&
           other.file_.block_size_bytes == file_.block_size_bytes &&
           std::memcmp(other.bytes_, bytes_, file_.size_bytes) == 0;
}

Result<bool> ShardWrite::share_with_previous() {
    if (!previous_ || !wait_until_available(file_.size_bytes) || !is_equal_to_previous()) return false;
    DET_TRY(open_directory_());
    DET_TRY_ASSIGN(bool const is_shared, previous_->share());
    if (!is_shared) return false;
    DET_TRY_ASSIGN(file_, previous_->write->result());
    if (file_.shared_with.empty()) file_.shared_with = previous_->uuid;
    return true;
}

void ShardWrite::open(ThreadPool& pool) {
    bool const is_shared = share_with_previous().value_or(false);  // after an error the file is written
    forget_previous();
    if (is_shared) return end();
    begin_attempt(pool);
}

void ShardWrite::begin_attempt(ThreadPool& pool) {
    if (failed_) return end_attempt(pool);
    if (auto created = create(); !created) {
        fail(std::move(created).error());
        return end_attempt(pool);
    }
    next_block_ = 0;
    running_threads_ = std::max(1, std::min<int>(pool.count(), static_cast<int>(file_.block_crc32c.size())));
    for (int thread = running_threads_; thread > 0; --thread)
        pool.submit([self = shared_from_this(), &pool] { self->write_blocks(pool); });
}

void ShardWrite::end_attempt(ThreadPool& pool) {
    if (!failed_ || !wait_for_next_attempt()) return end();
    pool.submit([self = shared_from_this(), &pool] { self->begin_attempt(pool); });
}

/// \return false if the write is not repeated
bool ShardWrite::wait_for_next_attempt() {
    output_.reset();
    std::unique_lock lock(mutex_);
    if (is_last_attempt_ || !error_ || !may_succeed_later(*error_)) return false;
    auto const now = std::chrono::steady_clock::now();
    bool const is_first = !give_up_at_;
    if (is_first) give_up_at_ = now + retry_.timeout;
    if (now >= *give_up_at_) return false;
    auto const until = std::min(now + retry_.pause, *give_up_at_);
    auto const error = *error_;
    lock.unlock();
    // Also if it could not be created: the server may have done so although the client has given up.
    if (!directory_.empty()) ::unlink((directory_ / (file_.path + ".tmp")).c_str());
    if (is_first && retry_.on_first) retry_.on_first(error);
    lock.lock();
    changed_.wait_until(lock, until, [this] { return is_last_attempt_; });
    if (is_last_attempt_) return false;
    error_.reset();
    failed_ = false;
    return true;
}

Status ShardWrite::create() {
    DET_TRY_ASSIGN(directory_, open_directory_());
    DET_TRY_ASSIGN(auto out, BlockFile::create(directory_ / (file_.path + ".tmp"), file_.size_bytes));
    output_.emplace(std::move(out));
    return Ok{};
}

void ShardWrite::write_blocks(ThreadPool& pool) {
    while (!failed_) {
        auto const block = next_block_++;
        if (block >= file_.block_crc32c.size()) break;
        if (auto written = write_block(block); !written) fail(std::move(written).error());
    }
    if (--running_threads_ > 0) return;
    if (!failed_) {
        if (auto moved = move_to_final_name(); !moved) fail(std::move(moved).error());
    }
    end_attempt(pool);
}

Status ShardWrite::write_block(std::size_t block) {
    auto const offset = block * file_.block_size_bytes;
    auto const size = std::min(file_.block_size_bytes, file_.size_bytes - offset);
    if (!wait_until_available(offset + size)) return Ok{};
    file_.block_crc32c[block] = crc32c(std::span(bytes_ + offset, size));
    return output_->write(bytes_ + offset, size, offset);
}

Status ShardWrite::move_to_final_name() {
    DET_TRY(output_->finish(file_.size_bytes));
    file_.crc32c = 0;
    for (std::size_t block = 0; block < file_.block_crc32c.size(); ++block) {
        auto const size = std::min(file_.block_size_bytes, file_.size_bytes - block * file_.block_size_bytes);
        file_.crc32c = crc32c_combine(file_.crc32c, file_.block_crc32c[block], size);
    }
    auto const path = directory_ / file_.path;
    if (rename_own(path.string() + ".tmp", path) != 0)
        return os_error(fmt::format("write '{}'", path.string()), errno);
    DET_TRY(sync_directory(directory_));
    return put_(file_);
}

void ShardWrite::fail(Error error) {
    std::lock_guard const lock(mutex_);
    failed_ = true;
    if (!error_) error_ = std::move(error);
}

void ShardWrite::end() {
    output_.reset();
    {
        std::lock_guard const lock(mutex_);
        if (failed_ && !error_) error_ = Error{codes::interrupted, "the checkpoint was abandoned"};
        is_done_ = true;
    }
    changed_.notify_all();
}

bool ShardWrite::is_done() const {
    std::lock_guard const lock(mutex_);
    return is_done_;
}

template <class Condition>
Status ShardWrite::wait_for(std::chrono::milliseconds limit, Condition const& condition) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, condition)) return Ok{};
    return Error{codes::timed_out,
                 fmt::format("'{}' was not written within {} s", file_.path, limit.count() / 1000)};
}

Status ShardWrite::wait(std::chrono::milliseconds limit) {
    return wait_for(limit, [this] { return is_done_; });
}

Status ShardWrite::wait_until_compared(std::chrono::milliseconds limit) {
    return wait_for(limit, [this] { return is_done_ || !previous_; });
}

Result<CheckpointFile> ShardWrite::result() const {
    std::lock_guard const lock(mutex_);
    if (error_) return *error_;
    return file_;
}

}  // namespace det::checkpoint
