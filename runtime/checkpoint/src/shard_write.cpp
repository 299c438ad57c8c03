#include "shard_write.hpp"

#include <det/foundation/bytes.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace det::checkpoint {

ShardWrite::ShardWrite(std::function<Result<std::filesystem::path>()> open, std::function<Status()> put,
                       std::string name, std::byte const* bytes, std::uint64_t size_bytes,
                       std::uint64_t block_size_bytes)
    : open_directory_(std::move(open)), put_(std::move(put)), bytes_(bytes) {
    file_.path = std::move(name);
    file_.size_bytes = size_bytes;
    file_.block_size_bytes = block_size_bytes;
    file_.block_crc32c.resize((size_bytes + block_size_bytes - 1) / block_size_bytes);
}

void ShardWrite::start(ThreadPool& pool) {
    pool.submit([self = shared_from_this(), &pool] { self->open(pool); });
}

void ShardWrite::on_there(std::uint64_t size_bytes) {
    {
        std::lock_guard const lock(mutex_);
        there_bytes_ = size_bytes;
    }
    news_.notify_all();
}

void ShardWrite::on_missing(Error error) {
    fail(std::move(error));
    news_.notify_all();
}

bool ShardWrite::wait_until_there(std::uint64_t size_bytes) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return failed_ || there_bytes_ >= size_bytes; });
    return !failed_;
}

void ShardWrite::give_up() {
    {
        std::lock_guard const lock(mutex_);
        failed_ = true;
    }
    news_.notify_all();
}

void ShardWrite::forget_before() {
    {
        std::lock_guard const lock(mutex_);
        before_.reset();
    }
    news_.notify_all();
}

bool ShardWrite::is_as_before() const {
    auto const& other = *before_->write;
    if (!other.is_done() || !other.result()) return false;
    return other.file_.path == file_.path && other.file_.size_bytes == file_.size_bytes &&
           other.file_.block_size_bytes == file_.block_size_bytes &&
           std::memcmp(other.bytes_, bytes_, file_.size_bytes) == 0;
}

Result<bool> ShardWrite::share_with_before() {
    if (!before_ || !wait_until_there(file_.size_bytes) || !is_as_before()) return false;
    DET_TRY(open_directory_());
    DET_TRY_ASSIGN(bool const is_shared, before_->share());
    if (!is_shared) return false;
    DET_TRY_ASSIGN(file_, before_->write->result());
    if (file_.shared_with.empty()) file_.shared_with = before_->uuid;
    return true;
}

void ShardWrite::open(ThreadPool& pool) {
    auto const shared = share_with_before();
    forget_before();
    if (!shared) fail(shared.error());
    if (!shared || *shared || failed_) return end();
    if (auto created = create(); !created) {
        fail(std::move(created).error());
        return end();
    }
    lanes_ = std::max(1, std::min<int>(pool.count(), static_cast<int>(file_.block_crc32c.size())));
    for (int lane = lanes_; lane > 0; --lane)
        pool.submit([self = shared_from_this()] { self->write_blocks(); });
}

Status ShardWrite::create() {
    DET_TRY_ASSIGN(directory_, open_directory_());
    DET_TRY_ASSIGN(auto out, BlockFile::create(directory_ / (file_.path + ".tmp"), file_.size_bytes));
    out_.emplace(std::move(out));
    return Ok{};
}

void ShardWrite::write_blocks() {
    while (!failed_) {
        auto const block = next_block_++;
        if (block >= file_.block_crc32c.size()) break;
        if (auto written = write_block(block); !written) fail(std::move(written).error());
    }
    if (--lanes_ == 0) close();
}

Status ShardWrite::write_block(std::size_t block) {
    auto const offset = block * file_.block_size_bytes;
    auto const size = std::min(file_.block_size_bytes, file_.size_bytes - offset);
    if (!wait_until_there(offset + size)) return Ok{};
    file_.block_crc32c[block] = crc32c(std::span(bytes_ + offset, size));
    return out_->write(bytes_ + offset, size, offset);
}

void ShardWrite::close() {
    if (!failed_) {
        if (auto named = give_name(); !named) fail(std::move(named).error());
    }
    end();
}

Status ShardWrite::give_name() {
    DET_TRY(out_->finish(file_.size_bytes));
    file_.crc32c = 0;
    for (std::size_t block = 0; block < file_.block_crc32c.size(); ++block) {
        auto const size = std::min(file_.block_size_bytes, file_.size_bytes - block * file_.block_size_bytes);
        file_.crc32c = crc32c_combine(file_.crc32c, file_.block_crc32c[block], size);
    }
    auto const path = directory_ / file_.path;
    if (::rename((path.string() + ".tmp").c_str(), path.c_str()) != 0)
        return os_error(fmt::format("write '{}'", path.string()), errno);
    DET_TRY(sync_directory(directory_));
    return put_();
}

void ShardWrite::fail(Error error) {
    std::lock_guard const lock(mutex_);
    failed_ = true;
    if (!error_) error_ = std::move(error);
}

void ShardWrite::end() {
    out_.reset();
    {
        std::lock_guard const lock(mutex_);
        if (failed_ && !error_) error_ = Error{codes::interrupted, "the checkpoint was given up"};
        is_done_ = true;
    }
    news_.notify_all();
}

bool ShardWrite::is_done() const {
    std::lock_guard const lock(mutex_);
    return is_done_;
}

template <class Condition>
Status ShardWrite::wait_for(std::chrono::milliseconds limit, Condition const& condition) {
    std::unique_lock lock(mutex_);
    if (news_.wait_for(lock, limit, condition)) return Ok{};
    return Error{codes::timed_out,
                 fmt::format("'{}' was not written within {} s", file_.path, limit.count() / 1000)};
}

Status ShardWrite::wait(std::chrono::milliseconds limit) {
    return wait_for(limit, [this] { return is_done_; });
}

Status ShardWrite::wait_until_compared(std::chrono::milliseconds limit) {
    return wait_for(limit, [this] { return is_done_ || !before_; });
}

Result<CheckpointFile> ShardWrite::result() const {
    std::lock_guard const lock(mutex_);
    if (error_) return *error_;
    return file_;
}

}  // namespace det::checkpoint
