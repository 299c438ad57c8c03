#include <det/foundation/files.hpp>
#include <det/foundation/sync_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det {

Status sync_file(std::filesystem::path const& path) {
    UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return os_error(fmt::format("sync '{}'", path.string()), errno);
    return Ok{};
}

}  // namespace det
