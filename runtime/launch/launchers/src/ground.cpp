#include "ground.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>
#include <numeric>

namespace det::launchers {
namespace {

constexpr std::uint16_t c10d_port = 29400;  // Determined's

/// The first of "[2, 3]".
int first_slot(Environment const& environment) {
    auto const slots = Json::parse(environment.find(variables::slot_ids).value_or(""), nullptr, false);
    bool const has_one = slots.is_array() && !slots.empty() && slots[0].is_number_unsigned();
    return has_one ? slots[0].get<int>() : 0;
}

}  // namespace

int Nodes::ranks() const { return std::accumulate(slots.begin(), slots.end(), 0); }
int Nodes::ranks_before() const { return std::accumulate(slots.begin(), slots.begin() + own, 0); }

Result<Nodes> read_nodes(RendezvousInfo const& rendezvous) {
    Nodes nodes;
    DET_TRY_ASSIGN(nodes.hosts, expand_host_list(rendezvous.hosts));
    DET_TRY_ASSIGN(nodes.slots, expand_counts(rendezvous.slot_counts));
    nodes.own = rendezvous.container_rank;
    bool const fits = nodes.hosts.size() == nodes.slots.size() && nodes.own >= 0 &&
                      static_cast<std::size_t>(nodes.own) < nodes.hosts.size();
    if (fits) return nodes;
    return Error{codes::damaged,
                 fmt::format("{}: node {} of '{}' with '{}' slots can't be", info_files::rendezvous,
                             nodes.own, rendezvous.hosts, rendezvous.slot_counts)};
}

LaunchPlan wait_for_chief() {
    LaunchPlan plan;
    plan.waits_for_chief = true;
    return plan;
}

Result<std::uint16_t> meeting_port(Environment const& environment) {
    for (auto const* name : {"C10D_PORT", "MASTER_PORT"}) {
        auto const text = environment.find_non_empty(name);
        if (!text) continue;
        auto const port = parse_integer<std::uint16_t>(*text);
        if (port && *port > 0) return *port;
        return Error{codes::bad_value, fmt::format("{}='{}' is not a port", name, *text)};
    }
    return static_cast<std::uint16_t>(c10d_port + first_slot(environment));
}

void use_remote_shell(LaunchPlan& plan, Ground& ground) {
    plan.remote_shell = ground.run_dir / "remote-shell";
    auto const path = ground.environment.find_non_empty("PATH").value_or("/usr/bin:/bin");
    ground.environment.set("PATH", fmt::format("{}:{}", plan.remote_shell->string(), path));
}

}  // namespace det::launchers
