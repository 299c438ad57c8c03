#include <det/foundation/count_text.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/supervisor/node_health.hpp>
#include <det/launch/supervisor/node_probes.hpp>
#include <det/launch/supervisor/node_rendezvous.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto meeting_time = 30s;  // srun does not start all tasks of a large job at once
constexpr auto exchange_time = 3s;
constexpr std::uint32_t peers_of_each = 2;
constexpr std::size_t written_bytes = std::size_t{1} << 20;
// More than one packet, because a network may lose only large packets.
constexpr std::size_t exchanged_bytes = std::size_t{256} << 10;
constexpr std::size_t last_words_max = 500;

// ---- connections ----

bool receive_bytes(int fd, std::size_t count, SteadyClock::time_point deadline) {
    std::vector<char> block(std::min<std::size_t>(count, std::size_t{64} << 10));
    while (count > 0) {
        if (!wait_for_events(fd, POLLIN, deadline)) return false;
        auto const got = ::recv(fd, block.data(), std::min(count, block.size()), 0);
        if (got <= 0) return false;
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

bool send_bytes(int fd, std::string_view bytes, SteadyClock::time_point deadline) {
    while (!bytes.empty()) {
        if (!wait_for_events(fd, POLLOUT, deadline)) return false;
        auto const sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) return false;
        if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// Receives what a peer sends, and confirms it.
bool serve(NodeListener& listener, SteadyClock::time_point deadline) {
    auto const peer = listener.accept_node(deadline);
    auto const until = std::min(deadline, SteadyClock::now() + exchange_time);
    return peer && receive_bytes(peer.get(), exchanged_bytes, until) && send_bytes(peer.get(), "+", until);
}

bool can_reach(NodeRendezvous const& rendezvous, std::uint32_t peer, SteadyClock::time_point deadline) {
    std::string const bytes(exchanged_bytes, 'x');
    while (SteadyClock::now() < deadline) {
        auto const fd = connect_to_node(rendezvous, peer, deadline);
        if (!fd) return false;
        auto const until = std::min(deadline, SteadyClock::now() + 2 * exchange_time);
        if (send_bytes(fd.get(), bytes, until) && receive_bytes(fd.get(), 1, until)) return true;
    }
    return false;
}

/// Connects to the peers while the other nodes connect to this one.
void check_network(NodeRendezvous const& rendezvous, HealthReport& report) {
    auto const count = static_cast<std::uint32_t>(rendezvous.hosts.size());
    auto const peers = peers_to_reach(rendezvous.own_index, count);
    if (peers.empty()) return;
    auto const deadline = SteadyClock::now() + meeting_time;
    auto listener = NodeListener::open(rendezvous);
    report.listens = listener.has_value();
    auto server = start_thread("health-check", [&](std::stop_token const&) {
        // As many nodes connect to this one as it connects to.
        for (auto left = peers.size(); listener && left > 0 && SteadyClock::now() < deadline;) {
            if (serve(*listener, deadline)) --left;
        }
    });
    for (auto const peer : peers) {
        auto const& host = rendezvous.hosts[peer];
        if (!has_address(host))
            report.faults.push_back(fmt::format("it finds no address of '{}'", host));
        else if (!can_reach(rendezvous, peer, deadline))
            report.unreached.push_back(peer);
    }
}

// ---- disks and GPUs ----

bool is_out_of_space(int error_number) { return error_number == ENOSPC || error_number == EDQUOT; }

void check_disks(HealthCheck const& check, Environment const& environment, HealthReport& report) {
    auto const name = fmt::format(".det-health-{}-{}", check.token, report.index);
    auto const local = probe_writing(node::local_base(environment), name, written_bytes);
    if (!local.error.empty()) report.faults.push_back(local.error);
    if (read_file(check.directory / health_token_file).value_or("") != check.token ||
        !path_exists(check.directory / health_secret_file))
        report.faults.push_back(fmt::format("it does not see the files of '{}'", check.directory.string()));
    if (check.storage.empty()) return;
    auto const shared = probe_writing(check.storage, name, written_bytes);
    // A full storage is full for all nodes.
    if (!shared.error.empty())
        (is_out_of_space(shared.error_number) ? report.notes : report.faults).push_back(shared.error);
}

void check_gpus(HealthCheck const& check, HealthReport& report) {
    auto const found = check.gpus > 0 ? count_openable_gpus(check.devices) : 0;
    if (found >= check.gpus) return;
    report.faults.push_back(
        fmt::format("the run needs {}, and {} can be opened", count_text(check.gpus, "GPU"), found));
}

// ---- the command ----

/// The end of what a command has printed to standard error or, if that is nothing, to standard output, in one
/// line.
std::string last_words(ProcessOutput const& ended) {
    auto const errors = trim(ended.err);
    auto text = errors.empty() ? trim(ended.out) : errors;
    if (text.size() > last_words_max) text.remove_prefix(text.size() - last_words_max);
    std::string line;
    for (auto const part : split_lines(text)) {
        if (!trim(part).empty()) line += (line.empty() ? "" : " / ") + escape_control(trim(part));
    }
    return line;
}

void run_command(HealthCheck const& check, Environment const& environment, HealthReport& report) {
    if (check.command.empty()) return;
    auto const& program = check.command.front();
    auto const ended = SystemProcessRunner().run({check.command, environment, check.command_timeout});
    if (!ended && ended.error().code == codes::timed_out) {
        report.faults.push_back(
            fmt::format("'{}' did not end within {} s", program, check.command_timeout.count()));
    } else if (!ended) {
        report.lacks_command = ended.error().code == codes::no_such_file;
        report.faults.push_back(
            fmt::format("the command of the check can't be run: {}", ended.error().message));
    } else if (ended->exit_code != 0) {
        auto const words = last_words(*ended);
        report.faults.push_back(fmt::format("'{}' ended with exit code {}{}{}", program, ended->exit_code,
                                            words.empty() ? "" : ": ", words));
    }
}

Status write_report(HealthCheck const& check, HealthReport const& report) {
    return write_file(health_report_path(check.directory, report.index), render_health_report(report));
}

}  // namespace

std::string render_health_report(HealthReport const& report) {
    Json const json{{"index", report.index},
                    {"is_complete", report.is_complete},
                    {"listens", report.listens},
                    {"faults", report.faults},
                    {"notes", report.notes},
                    {"unreached", report.unreached},
                    {"lacks_command", report.lacks_command},
                    {"fails_by_command_only", report.fails_by_command_only}};
    return to_line(json) + "\n";
}

Result<HealthReport> parse_health_report(std::string_view text) {
    auto const json = try_parse_json(text);
    return decode_json("health report", [&] {
        HealthReport report;
        report.index = json.at("index");
        report.is_complete = json.at("is_complete");
        report.listens = json.at("listens");
        report.faults = json.at("faults").get<std::vector<std::string>>();
        report.notes = json.at("notes").get<std::vector<std::string>>();
        report.unreached = json.at("unreached").get<std::vector<std::uint32_t>>();
        report.lacks_command = json.at("lacks_command");
        report.fails_by_command_only = json.at("fails_by_command_only");
        return report;
    });
}

fs::path health_report_path(fs::path const& directory, std::uint32_t index) {
    return directory / fmt::format("node-{}.json", index);
}

std::vector<std::uint32_t> peers_to_reach(std::uint32_t index, std::uint32_t nodes) {
    std::vector<std::uint32_t> peers;
    for (std::uint32_t i = 1; i <= peers_of_each && i < nodes; ++i) peers.push_back((index + i) % nodes);
    return peers;
}

Status check_node_health(HealthCheck const& check, Environment const& environment) {
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(check.hosts));
    auto const own = std::ranges::find(hosts, node::node_name(environment));
    if (own == hosts.end())
        return Error{codes::bad_value, fmt::format("'{}' is not among the nodes of the run, '{}'",
                                                   node::node_name(environment), check.hosts)};
    HealthReport report;
    report.index = static_cast<std::uint32_t>(own - hosts.begin());
    DET_TRY(write_report(check, report));
    check_gpus(check, report);
    check_disks(check, environment, report);
    auto const secret = read_file(check.directory / health_secret_file);
    if (secret) check_network({*secret, "health", hosts, report.index, check.port}, report);
    // Last: the peers of a node wait for its connections, and not for its command.
    bool const is_well = report.faults.empty();
    run_command(check, environment, report);
    report.fails_by_command_only = is_well && !report.faults.empty();
    report.is_complete = true;
    return write_report(check, report);
}

}  // namespace det::launch::supervisor
