#include <det/foundation/text.hpp>
#include <det/launch/supervisor/keeper_link.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <system_error>
#include <utility>

namespace det::launch::supervisor {

std::string to_string(KeeperLinkPlace const& place) {
    return fmt::format("{} {} {} {}", place.step, place.secret, place.hosts,
                       transport::render_node_monitor_address(place.supervisor));
}

std::optional<KeeperLinkPlace> parse_keeper_link_place(std::string_view text) {
    std::array<std::string_view, 3> words;
    for (auto& word : words) {
        auto const space = text.find(' ');
        if (space == text.npos || space == 0) return std::nullopt;
        word = text.substr(0, space);
        text.remove_prefix(space + 1);
    }
    auto const step = parse_integer<std::uint64_t>(words[0]);
    auto supervisor = transport::parse_node_monitor_address(text);
    if (!step || !supervisor) return std::nullopt;
    return KeeperLinkPlace{*step, std::string(words[1]), std::string(words[2]), *std::move(supervisor)};
}

std::unique_ptr<KeeperLink> KeeperLink::open(Environment const& environment) {
    auto const place = parse_keeper_link_place(environment.find(KeeperLinkPlace::variable).value_or(""));
    if (!place) return nullptr;
    auto const hosts = expand_host_list(place->hosts);
    if (!hosts) return nullptr;
    auto const found = std::ranges::find(*hosts, environment.find("SLURMD_NODENAME").value_or(""));
    auto const node = found - hosts->begin();
    if (found == hosts->end() || node >= place->supervisor.nodes) return nullptr;
    try {
        return std::unique_ptr<KeeperLink>(new KeeperLink(*place, static_cast<int>(node)));
    } catch (std::system_error const&) {
        return nullptr;  // no thread can be started now
    }
}

KeeperLink::KeeperLink(KeeperLinkPlace const& place, int node) {
    transport::NodeBeats::Options options{place.supervisor, place.secret, node};
    options.find_activity = [step = place.step, has = has_interpreter_]() -> std::optional<std::uint64_t> {
        return KeeperReport{step, *has}.to_number();
    };
    beats_.emplace(std::move(options));
}

}  // namespace det::launch::supervisor
