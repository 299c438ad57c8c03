#pragma once
#include <csignal>
#include <cstdint>
#include <sys/resource.h>

namespace det {

/// While it exists, files can't grow beyond this size: writing fails with EFBIG.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::uintmax_t size_bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limited = before_;
        limited.rlim_cur = size_bytes;
        ::setrlimit(RLIMIT_FSIZE, &limited);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(FileSizeLimit const&) = delete;
    FileSizeLimit& operator=(FileSizeLimit const&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

}  // namespace det
