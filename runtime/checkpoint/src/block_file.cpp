#include "block_file.hpp"

#include <det/foundation/shared_directory.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "host_memory.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

std::size_t whole_pages(std::size_t size) { return (size + page_bytes - 1) / page_bytes * page_bytes; }

/// Opens with O_DIRECT if the file system supports it.
UniqueFd open_direct(fs::path const& path, int flags) {
    int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_DIRECT, 0600);
    if (fd < 0 && errno == EINVAL) {
        // Without O_EXCL, because some file systems create the file before they refuse O_DIRECT.
        fd = ::open(path.c_str(), (flags & ~O_EXCL) | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    return UniqueFd(fd);
}

/// Whether the first page of the file is in the page cache. Uses mincore, because a read, even with
/// RWF_NOWAIT, would bring the page into the cache.
bool begins_in_page_cache(int fd) {
    void* const page = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) return false;
    unsigned char is_there = 0;
    bool const is_known = ::mincore(page, page_bytes, &is_there) == 0;
    ::munmap(page, page_bytes);
    return is_known && (is_there & 1) != 0;
}

bool cannot_reserve(int error_number) {
    return error_number == EOPNOTSUPP || error_number == ENOSYS || error_number == EINVAL;
}

}  // namespace

Result<BlockFile> BlockFile::create(fs::path path, std::uint64_t size_bytes) {
    auto file = open_direct(path, O_WRONLY | O_CREAT | O_EXCL);
    if (!file) return os_error(fmt::format("create '{}'", path.string()), errno);
    share_new_file(file.get(), path);
    if (size_bytes != 0 && ::fallocate(file.get(), 0, 0, static_cast<off_t>(size_bytes)) != 0 &&
        !cannot_reserve(errno)) {
        auto error = os_error(fmt::format("reserve {} bytes for '{}'", size_bytes, path.string()), errno);
        ::unlink(path.c_str());  // frees what was reserved
        return error;
    }
    return BlockFile(std::move(file), std::move(path));
}

Result<BlockFile> BlockFile::open(fs::path path, ReadFrom from) {
    if (from == ReadFrom::page_cache_or_disk) {
        UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        if (file && begins_in_page_cache(file.get())) {
            BlockFile found(std::move(file), std::move(path));
            found.is_read_ahead_ = true;
            return found;
        }
    }
    auto file = open_direct(path, O_RDONLY | O_NONBLOCK);  // O_NONBLOCK: the path may name a pipe
    if (!file) return os_error(fmt::format("read '{}'", path.string()), errno);
    return BlockFile(std::move(file), std::move(path));
}

bool BlockFile::leave_direct() const {
    int const flags = ::fcntl(file_.get(), F_GETFL);
    return flags >= 0 && ::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) == 0;
}

Status BlockFile::write(std::byte const* block, std::size_t size_bytes, std::uint64_t offset) {
    auto const size = whole_pages(size_bytes);
    bool may_be_direct = true;  // whether EINVAL may come from O_DIRECT
    for (std::size_t done = 0; done < size_bytes;) {
        auto const count =
            ::pwrite(file_.get(), block + done, size - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EINVAL && std::exchange(may_be_direct, false) && leave_direct()) continue;
        if (count < 0) return os_error(fmt::format("write '{}'", path_.string()), errno);
        if (count == 0) return os_error(fmt::format("write '{}'", path_.string()), ENOSPC);
        done += static_cast<std::size_t>(count);
    }
    return Ok{};
}

Result<std::size_t> BlockFile::read(std::byte* block, std::size_t size_bytes, std::uint64_t offset) const {
    auto const size = whole_pages(size_bytes);
    std::size_t done = 0;
    bool may_be_direct = true;  // whether EINVAL may come from O_DIRECT
    while (done < size_bytes) {
        auto const count = ::pread(file_.get(), block + done, size - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EINVAL && std::exchange(may_be_direct, false) && leave_direct()) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path_.string()), errno);
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

Status BlockFile::finish(std::uint64_t size_bytes) {
    if (::ftruncate(file_.get(), static_cast<off_t>(size_bytes)) != 0)
        return os_error(fmt::format("cut '{}' to its size", path_.string()), errno);
    if (::fsync(file_.get()) != 0) return os_error(fmt::format("sync '{}'", path_.string()), errno);
    // Some file systems (NFS, quotas) report a full disk only at close.
    if (::close(file_.release()) != 0) return os_error(fmt::format("write '{}'", path_.string()), errno);
    return Ok{};
}

Result<std::uint64_t> BlockFile::size_bytes() const {
    struct stat info {};
    if (::fstat(file_.get(), &info) != 0) return os_error(fmt::format("read '{}'", path_.string()), errno);
    if (!S_ISREG(info.st_mode))
        return Error{codes::not_a_file, fmt::format("'{}' is not a regular file", path_.string())};
    return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace det::checkpoint
