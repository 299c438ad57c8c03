#pragma once
#include <det/foundation/files.hpp>

#include <string_view>

namespace det::launch::wrap_rank {

/// Standard output or error, which may be a pipe that other ranks' wrappers write to as well, because a
/// launcher passes its own to all ranks. Batches of whole lines are written under a lock, so that lines of
/// several ranks do not mix.
class SharedOutput {
public:
    explicit SharedOutput(int fd);
    /// Enlarges a pipe for a stream of high volume: if the pipe is smaller than a batch, writer and reader
    /// wait for each other twice a batch.
    void enlarge_pipe(int size_bytes);
    /// A closed reader is no error: the command continues.
    void write(std::string_view lines) const;

private:
    int fd_;
    bool is_enlarged_ = false;
    UniqueFd lock_;  // the same pipe, opened again: flock(2) locks belong to an open file description
};

}  // namespace det::launch::wrap_rank
