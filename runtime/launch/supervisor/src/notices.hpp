#pragma once
#include <det/foundation/files.hpp>

namespace det::supervisor {

/// TERM to the supervisor itself: the job is cancelled, its time or its grace is over. Blocked from
/// construction on, so that it neither ends us nor a command that we run to say so.
class Notices {
public:
    static Result<Notices> open();

    int fd() const { return fd_.get(); }
    /// Whether one came since the last call.
    bool take();

private:
    explicit Notices(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace det::supervisor
