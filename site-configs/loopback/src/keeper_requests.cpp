#include "keeper_requests.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "codes.hpp"
#include "daemons.hpp"
#include "keeper_log.hpp"

namespace det::loopback {
namespace {

Error no_such_daemon(std::string_view name) {
    return {codes::misuse, fmt::format("no daemon '{}': they are munged, slurmctld, slurmd.n0 ...", name)};
}

}  // namespace

KeeperRequests::Action const KeeperRequests::actions[] = {
    {"kill", &KeeperRequests::kill_daemon},    {"start", &KeeperRequests::start_daemon},
    {"cut", &KeeperRequests::cut_node},        {"heal", &KeeperRequests::heal_node},
    {"off", &KeeperRequests::switch_node_off}, {"on", &KeeperRequests::switch_node_on},
};

Result<std::string> KeeperRequests::answer(std::string_view request) {
    if (request == "status") return describe_daemons();
    constexpr std::string_view namespaces_of = "namespaces ";
    if (request.starts_with(namespaces_of)) {
        DET_TRY_ASSIGN(int const node, parse_node(request.substr(namespaces_of.size())));
        return hosts_.nodes()[static_cast<std::size_t>(node)].descriptors();
    }
    log_line(fmt::format("asked to '{}'", escape_control(request)));
    auto const words = split(request, ' ');
    for (auto const& action : actions) {
        if (words.size() != 2 || words[0] != action.name) continue;
        DET_TRY((this->*action.carry_out)(words[1]));
        return std::string();
    }
    return Error{codes::misuse, fmt::format("the keeper does not understand '{}'", escape_control(request))};
}

std::string KeeperRequests::describe_daemons() const {
    std::string text;
    for (auto const& daemon : supervisor_.daemons()) {
        text += fmt::format("{} {} {} {}\n", daemon.spec.name, daemon.pid, to_string(daemon.state),
                            daemon.restarts);
    }
    return text;
}

Result<int> KeeperRequests::parse_node(std::string_view name) const {
    auto const count = static_cast<int>(hosts_.nodes().size());
    for (int i = 0; i < count; ++i) {
        if (name == node_name(i)) return i;
    }
    return Error{codes::misuse, fmt::format("no node '{}': they are n0 to {}", name, node_name(count - 1))};
}

Status KeeperRequests::kill_daemon(std::string_view name) {
    return supervisor_.kill(std::string(name)) ? Status(Ok{}) : no_such_daemon(name);
}

Status KeeperRequests::start_daemon(std::string_view name) {
    return supervisor_.start(std::string(name)) ? Status(Ok{}) : no_such_daemon(name);
}

Status KeeperRequests::cut_node(std::string_view name) {
    DET_TRY_ASSIGN(int const node, parse_node(name));
    return network_.cut(node);
}

Status KeeperRequests::heal_node(std::string_view name) {
    DET_TRY_ASSIGN(int const node, parse_node(name));
    return network_.heal(node);
}

Status KeeperRequests::switch_node_off(std::string_view name) {
    DET_TRY_ASSIGN(int const node, parse_node(name));
    // The network first: a node that loses power does not say goodbye.
    DET_TRY(network_.cut(node));
    supervisor_.kill(node_daemon(node));
    hosts_.kill_processes_on(node);
    return Ok{};
}

Status KeeperRequests::switch_node_on(std::string_view name) {
    DET_TRY_ASSIGN(int const node, parse_node(name));
    DET_TRY(network_.heal(node));
    supervisor_.start(node_daemon(node));
    return Ok{};
}

}  // namespace det::loopback
