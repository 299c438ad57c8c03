#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/line_queue.hpp>

#include <memory>
#include <string_view>

#include "node_log_writer.hpp"
#include "output_lines.hpp"
#include "relay.hpp"

namespace det::launch::wrap_rank {

/// Standard output or error, which may be a pipe that other ranks' wrappers write to as well, because a
/// launcher passes its own to all ranks. Each write() holds a lock, so that labelled lines of several ranks
/// do not mix.
class SharedOutput {
public:
    explicit SharedOutput(int fd);
    /// Enlarges the pipe for a stream of high volume: if it is smaller than a batch, writer and reader wait
    /// for each other twice per batch.
    void enlarge_pipe(int size_bytes);
    /// It is not an error if the reader has closed the pipe: the command continues.
    void write(std::string_view lines) const;

private:
    int fd_;
    bool is_enlarged_ = false;
    UniqueFd lock_;  // the same pipe, opened again: flock(2) locks belong to an open file description
};

/// One output stream of the command: reads the pipe, writes to this process's standard output or error and
/// the node's log. A label would damage data that are not text, so once the stream has had a null byte, its
/// bytes pass unchanged.
class OutputForwarder {
public:
    /// \param to STDOUT_FILENO or STDERR_FILENO.
    /// \param log null if there is no log.
    OutputForwarder(UniqueFd from, int to, OutputSettings const& labels, LineQueue* log, Clock const& clock);

    /// -1 once all writers have closed the pipe.
    int fd() const { return from_.get(); }
    /// Forwards what can be read without blocking, at most 64 KiB.
    void forward();
    /// Forwards what the pipe holds now, and the last line without terminator.
    void finish();

private:
    void forward(std::size_t size_max);
    void feed(std::string_view bytes);
    void take(std::string_view line, LineEnd end);
    void log(std::string_view line);
    void begin();
    void stop_labelling(std::string_view bytes);
    void flush(std::string_view bytes);

    UniqueFd from_;
    SharedOutput to_;
    OutputSettings const& labels_;
    bool may_have_labels_;  // of this wrapper or of those below it
    bool adds_labels_;
    LineQueue* log_;
    Clock const& clock_;
    LineSplitter splitter_;
    ProgressBars bar_;
    UtcTime now_;
    std::unique_ptr<char[]> buffer_;
    std::string labelled_, logged_, time_;
};

}  // namespace det::launch::wrap_rank
