#pragma once
#include <det/foundation/environment.hpp>
#include <det/transport/node_monitor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// The connection of the process that keeps the interpreters of a node (slurm.warm_start) to the supervisor.
//
// It is that of NodeBeats, as the nodes of a run have it, with a secret of its own. It ends with the process,
// also if the node's slurmstepd is killed with it, of which srun reports nothing. Its beats say in which step
// the process is, and whether it has an interpreter.
namespace det::launch::supervisor {

/// What the keeper of a node has to know. In the environment of its step, which only the user can read.
struct KeeperLinkPlace {
    static constexpr char variable[] = "DET_KEEPER_LINK";
    std::uint64_t step = 0;  // of this supervisor, from 1
    std::string secret;
    std::string hosts;  // all nodes of the job, compressed: a node's number is its place there
    transport::NodeMonitorAddress supervisor;
};
/// "STEP SECRET HOSTS PORT NODES ADDRESS...". Pure.
std::string to_string(KeeperLinkPlace const& place);
/// \return nullopt if the text is no such place. Pure.
std::optional<KeeperLinkPlace> parse_keeper_link_place(std::string_view text);

/// What a keeper reports, as the number that a beat has room for.
struct KeeperReport {
    std::uint64_t step = 0;
    bool has_interpreter = false;
    std::uint64_t to_number() const { return step << 1 | (has_interpreter ? 1 : 0); }
    static KeeperReport from_number(std::uint64_t number) { return {number >> 1, (number & 1) != 0}; }
    friend bool operator==(KeeperReport const&, KeeperReport const&) = default;
};

/// The node's side: a thread that reports until the object ends.
class KeeperLink {
public:
    /// \return nullptr if the environment names no supervisor
    static std::unique_ptr<KeeperLink> open(Environment const& environment);
    /// The supervisor knows it with the next beat, within a second.
    void show(bool has_interpreter) { *has_interpreter_ = has_interpreter; }

private:
    KeeperLink(KeeperLinkPlace const& place, int node);

    std::shared_ptr<std::atomic<bool>> has_interpreter_ = std::make_shared<std::atomic<bool>>(false);
    std::optional<transport::NodeBeats> beats_;
};

}  // namespace det::launch::supervisor
