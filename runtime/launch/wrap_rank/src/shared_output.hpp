#pragma once
#include <det/foundation/files.hpp>

#include <string_view>

namespace det::launch::wrap_rank {

/// Standard output or error, which may be a pipe that the wrappers of other ranks write to as well: a
/// launcher gives all its ranks its own. One batch of whole lines at a time goes into such a pipe, however
/// full it is.
class SharedOutput {
public:
    explicit SharedOutput(int fd);
    /// For a stream that is in a hurry: a pipe that can't hold a batch of lines makes writer and reader wait
    /// for each other twice a batch.
    void widen(int size_bytes);
    /// Whoever reads may have gone: that is no error, the command goes on all the same.
    void write(std::string_view lines) const;

private:
    int fd_;
    bool is_widened_ = false;
    UniqueFd gate_;  // the same pipe, opened for us alone: what flock(2) tells apart
};

}  // namespace det::launch::wrap_rank
