#include "heartbeat.hpp"

#include <det/foundation/files.hpp>

#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::wrap_rank {

Heartbeat::~Heartbeat() { ::unlink(file_.c_str()); }

void Heartbeat::beat() const {
    struct stat info {};
    bool const is_fresh =
        ::stat(file_.c_str(), &info) == 0 && ::time(nullptr) - info.st_mtime < interval_.count() / 2;
    if (is_fresh) return;
    UniqueFd const file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file) ::futimens(file.get(), nullptr);
}

}  // namespace det::launch::wrap_rank
