#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>

namespace det {

/// Allocates a part of a sparse file that will be mapped: a store to a page that has no space on the disk
/// ends the process by SIGBUS. Where the file system can't allocate, nothing is done, and that is no error.
/// \param file open for writing
/// \return an error if the disk or the quota is full
Status allocate_file(int file, std::size_t offset_bytes, std::size_t size_bytes);

}  // namespace det
