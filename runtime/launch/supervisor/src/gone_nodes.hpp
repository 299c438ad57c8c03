#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace det::launch::supervisor {

/// Tells nodes whose processes are gone from those that have ended in order without having said so: a host
/// that refuses the connection shows only that no process of the run listens there.
///
/// Wrappers touch the file of their node while they are not connected, and say in a file that they have ended
/// in order if no supervisor has confirmed that (wrap_rank's Heartbeat). So the processes are gone if what
/// the node has does not change any more and does not say that: either a heartbeat file that is not touched,
/// or no file at all, if the wrapper was killed while it was connected, or before it made one.
///
/// After a failure of the network or of a job step thousands of nodes may refuse at once, and one that is
/// gone ends the run. So only a few files are read at a time: those of the same nodes until each is decided.
/// A node that has ended in order, or whose file changes, is not gone now, and another one takes its place.
class GoneNodes {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds between_looks{5};
    /// If the node was not asked about for longer, the time counts again from zero: the node was heard
    /// meanwhile, or this process did not run.
    static constexpr std::chrono::seconds gap_max{15};

    /// Nodes whose files are read at a time.
    static constexpr std::size_t looks_max = 16;
    static constexpr std::chrono::seconds between_passes{1};

    struct Storage {
        std::function<bool()> works;  // whether the storage can be read and written; may wait
        /// When the file of a node was changed, or another number that stays while it has none; nullopt: it
        /// has ended in order.
        std::function<std::optional<std::int64_t>(int node)> read;
    };

    /// \param limit how long the file must stay as it is
    GoneNodes(int nodes, std::chrono::milliseconds limit)
        : limit_(limit), nodes_(static_cast<std::size_t>(nodes)) {}

    /// Looks at the files of nodes that refuse connections, if it is time. Asks at most once whether the
    /// storage works.
    /// \param refusing these nodes, in ascending order
    /// \return a node whose processes are gone
    std::optional<int> find(std::vector<int> const& refusing, Time now, Storage const& storage);
    /// Whether to look at the file now.
    bool is_due(int node, Time now) const;
    /// \param file when the file of the node was changed, or another number that stays while it has none;
    ///     nullopt: it has ended in order, or the storage does not work
    /// \return whether the processes of the node are gone
    bool take(int node, std::optional<std::int64_t> file, Time now);

private:
    struct Seen {
        std::optional<std::int64_t> file;
        std::optional<Time> read_at;
        Time since;  // the file is as it is
    };
    void choose(std::vector<int> const& refusing);

    std::chrono::milliseconds const limit_;
    std::vector<Seen> nodes_;
    std::vector<int> watched_;  // looks_max at most
    int last_chosen_ = -1;      // the next one is looked for behind it
    std::optional<Time> last_pass_at_;
};

}  // namespace det::launch::supervisor
