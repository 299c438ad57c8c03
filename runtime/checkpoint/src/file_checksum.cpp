#include "file_checksum.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "host_memory.hpp"
#include "shard_reader.hpp"

namespace det::checkpoint {
namespace {

constexpr std::size_t read_size_bytes = std::size_t{4} << 20;

Error differs(std::string why) { return {codes::checkpoint_damaged, std::move(why)}; }

}  // namespace

Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from) {
    DET_TRY_ASSIGN(auto const file, BlockFile::open(root / relative, from));
    DET_TRY_ASSIGN(auto const memory, HostMemory::allocate(read_size_bytes));
    CheckpointFile sum{relative, 0, 0};
    for (;;) {
        DET_TRY_ASSIGN(auto const count, file.read(memory.data(), read_size_bytes, sum.size_bytes));
        sum.crc32c = crc32c(std::span<std::byte const>(memory.data(), count), sum.crc32c);
        sum.size_bytes += count;
        if (count < read_size_bytes) return sum;
    }
}

Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative) {
    UniqueFd const file(::open((root / relative).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return os_error(fmt::format("read '{}'", (root / relative).string()), errno);
    if (::fsync(file.get()) != 0)
        return os_error(fmt::format("sync '{}'", (root / relative).string()), errno);
    return sum_file(root, relative);
}

Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from) {
    if (expected.block_size_bytes != 0) return check_shard(root, expected, from);
    auto const actual = sum_file(root, expected.path, from);
    if (!actual) return differs(actual.error().message);
    if (actual->size_bytes != expected.size_bytes) {
        return differs(fmt::format("'{}' has {} bytes in place of {}", expected.path, actual->size_bytes,
                                   expected.size_bytes));
    }
    if (actual->crc32c != expected.crc32c)
        return differs(fmt::format("the checksum of '{}' does not match", expected.path));
    return Ok{};
}

}  // namespace det::checkpoint
