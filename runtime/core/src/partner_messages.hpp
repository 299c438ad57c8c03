#pragma once
#include <det/checkpoint/rank_messages.hpp>
#include <det/foundation/environment.hpp>

#include <memory>
#include <string>

#include "context_data.hpp"

namespace det::core {

/// Connects all ranks by sockets of their own, for the copies of snapshots between nodes. The addresses and
/// the secret travel by the collectives of the run, whose members have proven that they belong to it.
/// Collective.
/// \return null on all ranks, with a warning of the chief, if a node does not know its address
Result<std::unique_ptr<checkpoint::RankMessages>> open_partner_messages(ContextData& data);

/// The switch to which this node is connected, from SLURM_TOPOLOGY_ADDR ("root.leaf.node"). Empty if Slurm
/// does not know it.
std::string find_switch_name(Environment const& environment);

}  // namespace det::core
