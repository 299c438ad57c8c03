#pragma once
#include <det/foundation/files.hpp>

namespace det::launch::supervisor {

/// Signals to this process, as something to poll.
class Notices {
public:
    /// Blocks TERM, Slurm's, and USR2, det-submit's, here and in what is started from here.
    static Result<Notices> open();

    struct Heard {
        bool notice = false;  // TERM
        bool poke = false;    // USR2
    };

    int fd() const { return fd_.get(); }
    /// What came since it was asked last.
    Heard take();

private:
    explicit Notices(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

}  // namespace det::launch::supervisor
