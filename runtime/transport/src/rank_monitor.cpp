#include <det/foundation/polling.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/foundation/uuid.hpp>
#include <det/liveness/lost_peer.hpp>
#include <det/transport/rank_monitor.hpp>

#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "monitor_server.hpp"

namespace det::transport {
namespace {

using std::chrono::steady_clock;

std::string const beat_frame{static_cast<char>(MonitorMessage::beat)};
std::string const leaving_frame{static_cast<char>(MonitorMessage::leaving)};

class RankMonitorClient final : public RankMonitor {
public:
    RankMonitorClient(std::unique_ptr<FrameServer> server, FrameClient client, UniqueFd wake,
                      std::vector<std::string> nodes, RankMonitorOptions options)
        : server_(std::move(server)),
          client_(std::move(client)),
          wake_(std::move(wake)),
          nodes_(std::move(nodes)),
          options_(std::move(options)),
          thread_(start_thread("det-monitor", [this](auto const&) { run(); })) {}

    ~RankMonitorClient() override {
        is_leaving_ = true;
        std::uint64_t const one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
        thread_.join();
    }

    Status check() const override {
        if (!is_lost_) return Ok{};
        std::lock_guard const lock(mutex_);
        return Error{codes::transport, describe(lost_)};
    }

    Status wait_for_loss(std::chrono::milliseconds limit) const override {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, limit, [this] { return is_lost_.load(); });
        lock.unlock();
        return check();
    }

    std::string name_of(Rank rank) const override {
        auto const index = static_cast<std::size_t>(rank.value);
        auto const node = index < nodes_.size() ? nodes_[index] : std::string();
        return node.empty() ? fmt::format("rank {}", rank.value)
                            : fmt::format("rank {} on {}", rank.value, node);
    }

    void abandon() noexcept override { is_abandoned_ = true; }

private:
    std::string describe(Lost const& lost) const {
        return fmt::format("{} was lost: {}", name_of(lost.rank), lost.why);
    }

    /// The function of the thread: sends heartbeats and receives reports of lost ranks.
    void run() {
        auto next_beat = steady_clock::now();
        auto heard = next_beat;
        while (!is_leaving_ && !is_lost_) {
            auto const now = steady_clock::now();
            if (now >= next_beat) {
                next_beat = now + options_.beat;
                if (!client_.send(beat_frame, now + options_.silence_limit))
                    return report_chief_lost("its connection broke");
            }
            pollfd entries[] = {{client_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
            if (::poll(entries, 2, poll_timeout_ms(next_beat, now)) > 0 && entries[0].revents != 0) {
                if (!take_frame()) return;
                heard = steady_clock::now();
            }
            // This process itself was stopped: the next iteration reads the messages that have arrived
            // meanwhile.
            bool const was_stopped = steady_clock::now() - now > options_.silence_limit / 2;
            if (was_stopped) heard = steady_clock::now();
            if (steady_clock::now() - heard > options_.silence_limit) {
                auto const seconds = std::chrono::duration<double>(options_.silence_limit).count();
                return report_chief_lost(fmt::format("it was silent for {:g} s", seconds));
            }
        }
        if (!is_abandoned_) (void)client_.send(leaving_frame, steady_clock::now() + options_.beat);
    }

    /// Returns false if the connection to the chief is broken.
    bool take_frame() {
        auto const frame = client_.receive(1024, steady_clock::now() + options_.silence_limit);
        if (!frame) {
            report_chief_lost("its process has ended, or its connection broke");
            return false;
        }
        if (auto lost = parse_lost(*frame)) report_lost(*std::move(lost));
        return true;
    }

    void report_chief_lost(std::string why) {
        if (!is_leaving_) report_lost({{0}, std::move(why)});
    }

    void report_lost(Lost lost) {
        std::lock_guard const lock(mutex_);
        if (is_lost_) return;
        report_loss(describe(lost));  // before the program can end because of it
        lost_ = std::move(lost);
        is_lost_ = true;
        changed_.notify_all();
    }

    std::unique_ptr<FrameServer> server_;  // nullptr on ranks other than the chief
    FrameClient client_;
    UniqueFd wake_;
    std::vector<std::string> nodes_;  // by rank
    RankMonitorOptions options_;
    std::atomic<bool> is_leaving_ = false;
    std::atomic<bool> is_abandoned_ = false;
    std::atomic<bool> is_lost_ = false;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Lost lost_;
    std::jthread thread_;  // last, so that all members exist when it starts
};

/// Renders the bootstrap value with the address and the secret of the chief's monitor.
std::string render_endpoint(Endpoint const& endpoint, std::string const& secret) {
    return render_rendezvous_file({secret, endpoint});
}

}  // namespace

void RankMonitor::report_loss(std::string const& message) const { liveness::report_lost_peer(message); }

Error diagnose_lost_peer(RankMonitor const* monitor, Rank peer) {
    constexpr std::chrono::milliseconds report_limit{500};  // the chief's message reaches all ranks faster
    if (monitor != nullptr) {
        if (auto reported = monitor->wait_for_loss(report_limit); !reported)
            return std::move(reported).error();
    }
    auto const name = monitor != nullptr ? monitor->name_of(peer) : fmt::format("rank {}", peer.value);
    auto message = name + " has left or was lost";
    if (monitor != nullptr) monitor->report_loss(message);
    return Error{codes::transport, std::move(message)};
}

Result<std::unique_ptr<RankMonitor>> open_rank_monitor(Bootstrap& bootstrap, RankMonitorOptions options) {
    SessionKey key{{}, "monitor", bootstrap.size()};
    std::unique_ptr<FrameServer> server;
    std::string endpoint_text;
    if (bootstrap.rank().value == 0) {
        key.secret = make_uuid() + make_uuid();
        DET_TRY_ASSIGN(
            server, FrameServer::start(options.chief_address, key, MonitorServer::frame_limit_bytes,
                                       std::make_unique<MonitorServer>(options.silence_limit, options.beat)));
        endpoint_text = render_endpoint(server->endpoint(), key.secret);
    }
    DET_TRY_ASSIGN(auto const endpoint_texts, bootstrap.allgather(endpoint_text));
    DET_TRY_ASSIGN(auto nodes, bootstrap.allgather(options.node));
    DET_TRY_ASSIGN(auto addresses, bootstrap.allgather(options.address));
    if (server) server->add_nodes(std::move(addresses));
    DET_TRY_ASSIGN(auto const rendezvous, parse_rendezvous_file(endpoint_texts.front()));
    key.secret = rendezvous.secret;
    if (!rendezvous.chief)
        return Error{codes::transport, "the chief has published no address of its monitor"};
    DET_TRY_ASSIGN(auto client, FrameClient::join_until(*rendezvous.chief, key, bootstrap.rank(),
                                                        steady_clock::now() + options.silence_limit));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return os_error("make an eventfd", errno);
    DET_TRY(bootstrap.fence());  // after it all ranks have joined the monitor
    return Result<std::unique_ptr<RankMonitor>>(std::make_unique<RankMonitorClient>(
        std::move(server), std::move(client), std::move(wake), std::move(nodes), std::move(options)));
}

}  // namespace det::transport
