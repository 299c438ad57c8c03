#pragma once
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace det {

/// Whether the first page of a file is in the page cache. Does not read the file.
inline bool is_in_page_cache(std::filesystem::path const& file) {
    constexpr std::size_t page_bytes = 4096;
    UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    void* const page = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    BOOST_REQUIRE(page != MAP_FAILED);
    unsigned char resident = 0;
    BOOST_REQUIRE(::mincore(page, page_bytes, &resident) == 0);
    ::munmap(page, page_bytes);
    return (resident & 1) != 0;
}

/// Returns false if the page can't be dropped, as on tmpfs.
inline bool drop_from_page_cache(std::filesystem::path const& file) {
    UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_REQUIRE(::fsync(fd.get()) == 0);
    BOOST_REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    return !is_in_page_cache(file);
}

}  // namespace det
