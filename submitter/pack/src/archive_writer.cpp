#include "archive_writer.hpp"

#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace det::pack {
namespace {

// The buffers of a HashThread, 8 MiB in all. They let the other threads continue while the hash thread waits
// for a CPU.
constexpr std::size_t buffers_max = 16;

constexpr std::size_t name_size_max = 100;
// 2 January 1980: a zip file (a Python wheel) cannot store an older time, in any time zone.
constexpr std::uint64_t time_s = 315'619'200;

/// Fields of a ustar header: offset and size.
struct Field {
    std::size_t offset, size;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, checksum_field{148, 8}, type_field{156, 1},
    link_field{157, 100}, magic_field{257, 8};

class Block {
public:
    void put(Field field, std::string_view text) {
        std::copy_n(text.begin(), std::min(text.size(), field.size),
                    bytes_.begin() + static_cast<long>(field.offset));
    }
    /// Writes an octal number with leading zeros and one byte after it.
    void put_octal(Field field, std::uint64_t value) {
        for (auto at = field.offset + field.size - 1; at-- > field.offset; value /= 8)
            bytes_[at] = static_cast<char>('0' + value % 8);
    }

    /// Adds the checksum, which counts its own field as spaces.
    std::string finish() {
        put(checksum_field, std::string(checksum_field.size, ' '));
        unsigned sum = 0;
        for (char const c : bytes_) sum += static_cast<unsigned char>(c);
        put_octal({checksum_field.offset, checksum_field.size - 1}, sum);
        bytes_[checksum_field.offset + checksum_field.size - 2] = '\0';
        return bytes_;
    }

private:
    std::string bytes_ = std::string(tar_block_bytes, '\0');
};

std::string render_block(std::string_view name, char type, unsigned mode, std::uint64_t size,
                         std::string_view link) {
    Block block;
    block.put(name_field, name);
    block.put_octal(mode_field, mode);
    block.put_octal(uid_field, 0);
    block.put_octal(gid_field, 0);
    block.put_octal(size_field, size);
    block.put_octal(time_field, time_s);
    block.put(type_field, std::string(1, type));
    block.put(link_field, link);
    block.put(magic_field, std::string("ustar\0"
                                       "00",
                                       8));
    return block.finish();
}

/// Renders GNU tar's extension for a name or link target that is too long for the header. Its bytes have no
/// encoding; those of a pax header are declared UTF-8.
std::string long_name(char type, std::string_view name) {
    auto const size = name.size() + 1;
    std::string out = render_block("././@LongLink", type, 0644, size, "");
    out += name;
    return out + '\0' + tar_padding(size);
}

}  // namespace

std::string render_tar_header(Member const& member) {
    auto const path = member.kind == Member::Kind::directory ? member.path + "/" : member.path;
    std::string out;
    if (member.link_target.size() > name_size_max) out += long_name('K', member.link_target);
    if (path.size() > name_size_max) out += long_name('L', path);
    switch (member.kind) {
        case Member::Kind::directory:
            return out + render_block(path, '5', 0755, 0, "");
        case Member::Kind::link:
            return out + render_block(path, '2', 0777, 0, member.link_target);
        case Member::Kind::file:
            break;
    }
    return out + render_block(path, '0', member.is_executable ? 0755 : 0644, member.size_bytes, "");
}

std::string tar_padding(std::uint64_t size_bytes) {
    auto const over = size_bytes % tar_block_bytes;
    return std::string(over == 0 ? 0 : tar_block_bytes - over, '\0');
}

std::string tar_end() { return std::string(2 * tar_block_bytes, '\0'); }

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

/// If no thread can be started, hash() computes the hash in the caller's thread.
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

ArchiveWriter::ArchiveWriter(int fd, std::string path, std::uint64_t size_bytes)
    : compressor_(fd, std::move(path), size_bytes), block_(hash_.take_buffer()) {}

Status ArchiveWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const free = write_buffer();
        auto const size = std::min(free.size(), bytes.size());
        std::copy_n(bytes.begin(), size, free.begin());
        DET_TRY(advance(size));
        bytes.remove_prefix(size);
    }
    return Ok{};
}

std::span<char> ArchiveWriter::write_buffer() { return std::span(block_).subspan(used_); }

Status ArchiveWriter::advance(std::size_t size_bytes) {
    used_ += size_bytes;
    if (used_ < block_.size()) return Ok{};
    DET_TRY(compressor_.write({block_.data(), block_.size()}));
    hash_.hash(std::exchange(block_, {}));
    block_ = hash_.take_buffer();
    used_ = 0;
    return Ok{};
}

Result<ArchiveWriter::Finished> ArchiveWriter::finish() {
    std::string_view const rest(block_.data(), used_);
    DET_TRY(compressor_.write(rest));
    DET_TRY(compressor_.finish());
    return Finished{hash_.finish(rest), compressor_.size_bytes()};
}

}  // namespace det::pack
