#include <det/foundation/bytes.hpp>
#include <det/foundation/file_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>

#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det {
namespace {

constexpr std::size_t file_limit_bytes = std::size_t{1} << 30;

}  // namespace

Result<std::int64_t> measure_clock_offset_us(std::filesystem::path const& directory) {
    auto const path = directory / (".clock-" + make_uuid());
    DET_TRY(write_new_file(path, "clock\n"));
    auto const now = std::chrono::system_clock::now();
    struct stat info {};
    bool const is_seen = ::stat(path.c_str(), &info) == 0;
    int const reason = errno;
    ::unlink(path.c_str());
    if (!is_seen) return os_error(fmt::format("read '{}'", path.string()), reason);
    auto const own_us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
    return own_us - (std::int64_t{info.st_mtim.tv_sec} * 1'000'000 + info.st_mtim.tv_nsec / 1000);
}

std::string file_fingerprint(std::filesystem::path const& path) {
    auto const bytes = read_file(path, file_limit_bytes);
    return bytes ? fmt::format("{}-{}", bytes->size(), format_hex32(crc32c(*bytes))) : "";
}

}  // namespace det
