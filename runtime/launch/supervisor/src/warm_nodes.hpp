#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/keeper_link.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/transport/node_monitor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace det::launch::supervisor {

/// The supervisor's side of KeeperLink: on which nodes of the job an interpreter waits (slurm.warm_start).
/// All functions return at once.
class WarmNodes {
public:
    /// \return nullptr if no port can be opened, which is logged
    static std::unique_ptr<WarmNodes> start(BatchJob const& batch_job, SupervisorContext const& context);

    /// The value of DET_KEEPER_LINK for a step of keepers.
    std::string describe_place(std::uint64_t step) const;
    /// The nodes on which an interpreter waits, or imports torch: a rank waits for the rest of that.
    std::vector<std::string> find_waiting() const;
    /// The nodes that have a keeper.
    std::vector<std::string> find_kept() const;
    /// Those of the hosts of a step whose keeper has certainly ended.
    std::vector<std::string> find_ended(std::uint64_t step, std::vector<std::string> const& hosts) const;
    /// Whether a keeper of the step lives, or may live.
    bool may_have_keeper_of(std::uint64_t step, std::vector<std::string> const& hosts) const {
        return find_ended(step, hosts).size() < hosts.size();
    }

private:
    WarmNodes(KeeperLinkPlace place, std::vector<std::string> hosts,
              std::unique_ptr<transport::NodeMonitor> monitor)
        : place_(std::move(place)), hosts_(std::move(hosts)), monitor_(std::move(monitor)) {}
    bool is_kept(transport::NodeMonitor::Node const& node) const;
    bool has_interpreter(transport::NodeMonitor::Node const& node) const;
    template <class Test>
    std::vector<std::string> select(Test const& test) const;

    KeeperLinkPlace place_;  // without a step
    std::vector<std::string> hosts_;
    std::unique_ptr<transport::NodeMonitor> monitor_;
};

}  // namespace det::launch::supervisor
