#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/wrap_rank/bar_states.hpp>
#include <det/launch/wrap_rank/line_splitter.hpp>
#include <det/launch/wrap_rank/rank_log.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <memory>

#include "shared_output.hpp"

namespace det::launch::wrap_rank {

/// One stream of the command: pipe in, standard output or error and the node's log out.
class Stream {
public:
    /// log: null where there is none.
    Stream(UniqueFd from, int to, Labels const& labels, RankLog* log, Clock const& clock);

    /// -1 once nobody can write any more.
    int fd() const { return from_.get(); }
    /// Passes on what is there, a pipe's worth at most.
    void pass_on();
    /// Passes on everything that is there now, and the last line without an end.
    void finish();

private:
    void pass_on(std::size_t size_max);
    void take(std::string_view line, LineEnd end);
    void log(std::string_view line);
    void begin();
    void flush(std::string_view bytes);

    UniqueFd from_;
    SharedOutput to_;
    Labels const& labels_;
    RankLog* log_;
    Clock const& clock_;
    LineSplitter splitter_;
    BarStates bar_;
    UtcTime now_;
    std::unique_ptr<char[]> buffer_;
    std::string labelled_, logged_, time_;
};

}  // namespace det::launch::wrap_rank
