#include "stage_transfer.hpp"

#include <det/foundation/background.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

// Large enough that the messages by which a broadcast begins do not count.
constexpr std::size_t stage_block_bytes = std::size_t{8} << 20;

/// A file of slurm.stage on the shared file system.
class StageSource {
public:
    static Result<StageSource> open(StageItem const& item) {
        UniqueFd file(::open(item.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (!file) return os_error(fmt::format("open '{}' of slurm.stage", item.path), errno);
        struct stat facts {};
        if (::fstat(file.get(), &facts) != 0) return os_error(fmt::format("look at '{}'", item.path), errno);
        if (!S_ISREG(facts.st_mode))
            return Error{codes::not_a_file, fmt::format("'{}' of slurm.stage is no file", item.path)};
        ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
        return StageSource(std::move(file), item.path);
    }

    /// Fills the buffer.
    Status read(std::span<std::byte> into) {
        while (!into.empty()) {
            auto const count = ::read(file_.get(), into.data(), into.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return os_error(fmt::format("read '{}'", path_), errno);
            if (count == 0)
                return Error{
                    codes::damaged,
                    fmt::format("'{}' is shorter than when the experiment was submitted", path_),
                    "submit the experiment again ('det-submit experiment fork'): that takes the file as it "
                    "is now"};
            into = into.subspan(static_cast<std::size_t>(count));
            offset_ += count;
        }
        // The next block is read from the shared disk while this one is sent.
        ::posix_fadvise(file_.get(), offset_, stage_block_bytes, POSIX_FADV_WILLNEED);
        return Ok{};
    }

private:
    StageSource(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

    UniqueFd file_;
    std::string path_;
    off_t offset_ = 0;
};

std::string_view as_text(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// Writes a block to the copy while the caller receives the next one.
class BlockWriter {
public:
    explicit BlockWriter(StageCopy* copy) : copy_(copy) {}

    /// A block of memory that is not being written.
    std::span<std::byte> next_block(std::size_t size) {
        auto& block = blocks_[next_];
        next_ = 1 - next_;
        if (block.size() < size) block.resize(size);
        return std::span(block).first(size);
    }
    /// Waits for the block before, and begins to write this one.
    void write(std::span<std::byte const> block) {
        if (!wait() || copy_ == nullptr) return;
        writing_.emplace("det-stage", [this, block] { return copy_->append(as_text(block)); });
    }
    /// Waits until all is written. \return the first error
    Status wait() {
        if (writing_) {
            problem_ = writing_->join();
            writing_.reset();
        }
        return problem_;
    }

private:
    StageCopy* copy_;  // null: the blocks are not kept
    std::array<std::vector<std::byte>, 2> blocks_;
    std::size_t next_ = 0;
    Status problem_ = Ok{};
    std::optional<Background<Status>> writing_;
};

}  // namespace

Status copy_alone(StageTask& task) {
    DET_TRY(task.copy->restart());
    DET_TRY_ASSIGN(auto source, StageSource::open(task.item));
    std::vector<std::byte> block(std::min<std::uint64_t>(stage_block_bytes, task.item.size_bytes));
    for (auto left = task.item.size_bytes; left > 0;) {
        auto const part = std::span(block).first(std::min<std::uint64_t>(left, block.size()));
        DET_TRY(source.read(part));
        DET_TRY(task.copy->append(as_text(part)));
        left -= part.size();
    }
    task.is_received = true;
    return Ok{};
}

Status copy_together(StageTask& task, collectives::DistributedContext& nodes) {
    std::optional<StageSource> source;
    Status readable = Ok{};
    if (nodes.is_chief()) {
        auto opened = StageSource::open(task.item);
        if (opened)
            source.emplace(*std::move(opened));
        else
            readable = opened.error();
    }
    BlockWriter writer(task.copy.get());
    for (auto left = task.item.size_bytes; left > 0;) {
        auto const block = writer.next_block(std::min<std::uint64_t>(left, stage_block_bytes));
        if (source) readable = source->read(block);
        if (!readable) {
            (void)nodes.refuse(readable.error().message);
            return readable;
        }
        DET_TRY(nodes.broadcast(block));
        writer.write(block);
        left -= block.size();
    }
    DET_TRY(writer.wait());
    task.is_received = task.copy != nullptr;
    return Ok{};
}

}  // namespace det::launch::supervisor
