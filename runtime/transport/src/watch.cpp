#include <det/foundation/thread.hpp>
#include <det/foundation/uuid.hpp>
#include <det/transport/watch.hpp>

#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "frame_client.hpp"
#include "watch_server.hpp"

namespace det::transport {
namespace {

using std::chrono::steady_clock;

std::string const beat_frame{static_cast<char>(WatchWord::beat)};
std::string const goodbye_frame{static_cast<char>(WatchWord::goodbye)};

class RankWatch final : public Watch {
public:
    RankWatch(std::unique_ptr<FrameServer> server, FrameClient client, UniqueFd wake,
              std::vector<std::string> nodes, WatchOptions options)
        : server_(std::move(server)),
          client_(std::move(client)),
          wake_(std::move(wake)),
          nodes_(std::move(nodes)),
          options_(std::move(options)),
          thread_(start_thread("det-watch", [this](auto const&) { keep_watch(); })) {}

    ~RankWatch() override {
        say_goodbye();
        thread_.join();
    }

    Status check() const override {
        if (!is_lost_) return Ok{};
        std::lock_guard const lock(mutex_);
        return Error{codes::transport, fmt::format("{} was lost: {}", name_of(lost_.rank), lost_.why)};
    }

    Status check_within(std::chrono::milliseconds limit) const override {
        std::unique_lock lock(mutex_);
        news_.wait_for(lock, limit, [this] { return is_lost_.load(); });
        lock.unlock();
        return check();
    }

    std::string name_of(Rank rank) const override {
        auto const index = static_cast<std::size_t>(rank.value);
        auto const node = index < nodes_.size() ? nodes_[index] : std::string();
        return node.empty() ? fmt::format("rank {}", rank.value)
                            : fmt::format("rank {} on {}", rank.value, node);
    }

    void say_goodbye() noexcept override {
        is_leaving_ = true;
        std::uint64_t const one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
    }

private:
    /// The thread: shows that we live, and hears of those who don't.
    void keep_watch() {
        auto next_beat = steady_clock::now();
        auto heard = next_beat;
        while (!is_leaving_ && !is_lost_) {
            auto const now = steady_clock::now();
            if (now >= next_beat) {
                next_beat = now + options_.beat;
                if (!client_.send(beat_frame, now + options_.silence_limit))
                    return lose_chief("its connection broke");
            }
            pollfd entries[] = {{client_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
            if (::poll(entries, 2, remaining_ms(next_beat)) > 0 && entries[0].revents != 0) {
                if (!take_frame()) return;
                heard = steady_clock::now();
            }
            // Where we stood still ourselves, the next turn hears what has come meanwhile.
            bool const stood_still = steady_clock::now() - now > options_.silence_limit / 2;
            if (stood_still) heard = steady_clock::now();
            if (steady_clock::now() - heard > options_.silence_limit) {
                auto const seconds = std::chrono::duration<double>(options_.silence_limit).count();
                return lose_chief(fmt::format("it was silent for {:g} s", seconds));
            }
        }
        (void)client_.send(goodbye_frame, steady_clock::now() + options_.beat);
    }

    /// False: there is nothing more to hear.
    bool take_frame() {
        auto const frame = client_.receive(1024, steady_clock::now() + options_.silence_limit);
        if (!frame) {
            lose_chief("its process has ended, or its connection broke");
            return false;
        }
        if (auto lost = parse_lost(*frame)) lose(*std::move(lost));
        return true;
    }

    void lose_chief(std::string why) {
        if (!is_leaving_) lose({{0}, std::move(why)});
    }

    void lose(Lost lost) {
        std::lock_guard const lock(mutex_);
        if (is_lost_) return;
        lost_ = std::move(lost);
        is_lost_ = true;
        news_.notify_all();
    }

    std::unique_ptr<FrameServer> server_;  // the chief's
    FrameClient client_;
    UniqueFd wake_;
    std::vector<std::string> nodes_;  // by rank
    WatchOptions options_;
    std::atomic<bool> is_leaving_ = false;
    std::atomic<bool> is_lost_ = false;
    mutable std::mutex mutex_;
    mutable std::condition_variable news_;
    Lost lost_;
    std::jthread thread_;  // last: the rest is there when it begins
};

/// What the chief says to the others about its watch.
std::string render_place(Endpoint const& endpoint, std::string const& secret) {
    return render_meeting({secret, endpoint});
}

}  // namespace

Error describe_loss(Watch const* watch, Rank peer) {
    constexpr std::chrono::milliseconds moment{500};  // to all ranks the chief's word comes sooner
    if (watch != nullptr) {
        if (auto known = watch->check_within(moment); !known) return std::move(known).error();
    }
    auto const name = watch != nullptr ? watch->name_of(peer) : fmt::format("rank {}", peer.value);
    return Error{codes::transport, name + " has left or was lost"};
}

Result<std::unique_ptr<Watch>> open_watch(Bootstrap& bootstrap, WatchOptions options) {
    Club club{{}, "watch", bootstrap.size()};
    std::unique_ptr<FrameServer> server;
    std::string place;
    if (bootstrap.rank().value == 0) {
        club.secret = make_uuid() + make_uuid();
        DET_TRY_ASSIGN(
            server, FrameServer::start(options.chief_address, club, WatchServer::frame_limit_bytes,
                                       std::make_unique<WatchServer>(options.silence_limit, options.beat)));
        place = render_place(server->endpoint(), club.secret);
    }
    DET_TRY_ASSIGN(auto const places, bootstrap.allgather(place));
    DET_TRY_ASSIGN(auto nodes, bootstrap.allgather(options.node));
    DET_TRY_ASSIGN(auto const meeting, parse_meeting(places.front()));
    club.secret = meeting.secret;
    if (!meeting.chief) return Error{codes::transport, "the chief has not said where its watch listens"};
    DET_TRY_ASSIGN(auto client, FrameClient::join(*meeting.chief, club, bootstrap.rank(),
                                                  steady_clock::now() + options.silence_limit));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return os_error("make an eventfd", errno);
    DET_TRY(bootstrap.fence());  // nobody is missed who has not come yet
    return Result<std::unique_ptr<Watch>>(std::make_unique<RankWatch>(
        std::move(server), std::move(client), std::move(wake), std::move(nodes), std::move(options)));
}

}  // namespace det::transport
