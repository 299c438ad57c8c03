#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>

#include "hosts.hpp"
#include "supervisor.hpp"

namespace det::loopback {

/// What may be asked of the keeper through its control socket; control.hpp has the words.
class KeeperRequests {
public:
    KeeperRequests(Hosts const& hosts, Network& network, Supervisor& supervisor)
        : hosts_(hosts), network_(network), supervisor_(supervisor) {}

    Result<std::string> answer(std::string_view request);

private:
    Status kill_daemon(std::string_view name);
    Status start_daemon(std::string_view name);
    Status cut_node(std::string_view name);
    Status heal_node(std::string_view name);
    Status switch_node_off(std::string_view name);
    Status switch_node_on(std::string_view name);

    std::string describe_daemons() const;
    Result<int> parse_node(std::string_view name) const;

    struct Action {
        std::string_view name;
        Status (KeeperRequests::*carry_out)(std::string_view);
    };
    static Action const actions[];

    Hosts const& hosts_;
    Network& network_;
    Supervisor& supervisor_;
};

}  // namespace det::loopback
