#include <det/foundation/allocate_file.hpp>
#include <det/foundation/files.hpp>

#include <cerrno>
#include <fcntl.h>

namespace det {

Status allocate_file(int file, std::size_t offset_bytes, std::size_t size_bytes) {
    if (::fallocate(file, 0, static_cast<off_t>(offset_bytes), static_cast<off_t>(size_bytes)) == 0)
        return Ok{};
    return errno == ENOSPC || errno == EDQUOT ? Status(os_error("allocate a part of a file", errno)) : Ok{};
}

}  // namespace det
