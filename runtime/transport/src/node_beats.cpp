// The thread connects to the supervisor, which lets it stay or names a parent, and serves the connection
// until it breaks, or until no answer has come for some time (UplinkSilence); then it begins again. The
// destructor does not wait for an attempt to connect that the network does not answer: the thread keeps what
// it uses alive, and calls no function of the owner any more.
//
// At the end the node says that it leaves, and keeps the connection until its parent has answered that the
// supervisor knows. If that fails, it tells the supervisor itself. Meanwhile it answers its own children.
//
// The port at which children and examinations connect stays open as long as the thread runs, also while there
// is no connection: a host that refuses it says that the processes of the run are gone.
#include <det/foundation/polling.hpp>
#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "frames.hpp"
#include "node_messages.hpp"
#include "node_tree.hpp"
#include "reach_attempt.hpp"
#include "subtree.hpp"
#include "uplink_silence.hpp"

namespace det::transport {
namespace {

using namespace std::chrono_literals;
using namespace node_messages;
using std::chrono::steady_clock;

constexpr auto connect_limit = 1s;       // for a parent, and each address of the supervisor of few nodes
constexpr auto long_connect_limit = 3s;  // of the supervisor of many: they connect at the same time
constexpr auto proof_limit = 2s;         // further, until the proof
constexpr auto transfer_limit = 3s;      // of one message
constexpr std::chrono::milliseconds stale_limit_min = 15s;  // see UplinkSilence
constexpr auto stale_limit_spread_of_node = 3ms;            // 30 s for 10,000 nodes
constexpr auto first_connection_spread_of_node = 1ms;       // 10 s for 10,000 nodes
constexpr std::chrono::milliseconds first_pause = 500ms, longest_pause_min = 10s;
constexpr auto longest_pause_of_node = 2ms;  // 20 s for 10,000 nodes
constexpr std::size_t attempts_max = 64;     // at once; the supervisor asks for one per silent node
constexpr auto leaving_limit = 1s;
constexpr auto children_limit = 400ms;  // for the children that end at the same time, to say so
constexpr auto between_early_beats = 100ms;

/// An examination of another node that the supervisor has asked for.
struct Attempt {
    Examine asked;
    ReachAttempt reach;
};

/// Serves the children of a node on the thread of its port.
class ChildServer final : public FrameHandler {
public:
    /// \param on_departure called when a child has said that it, or a descendant, has left
    ChildServer(std::shared_ptr<Subtree> subtree, std::function<void()> on_departure)
        : subtree_(std::move(subtree)), on_departure_(std::move(on_departure)) {}

    bool is_replaceable(Rank rank) override {
        return subtree_->is_replaceable(rank.value, steady_clock::now());
    }
    void on_joined(Rank rank, Post const&) override { subtree_->add_child(rank.value, steady_clock::now()); }
    bool on_frame(Rank from, std::string_view frame, Post const& post) override {
        auto const message = parse_from_node(frame);
        std::optional<BeatAnswer> answer;
        if (!message || !subtree_->take(from.value, *message, steady_clock::now(), answer)) return false;
        if (answer) post(from, render(*answer));
        if (subtree_->has_unsent_departures()) on_departure_();
        return true;
    }
    void on_left(Rank rank, Post const&) override { subtree_->remove_child(rank.value); }
    /// Called when the supervisor knows of departures. Otherwise it has nothing to do.
    void on_tick(TimePoint, Post const& post) override {
        for (int const child : subtree_->take_known_children()) post({child}, render(LeavingKnown{}));
    }
    /// Ranks compute on this host.
    std::chrono::milliseconds tick() const override { return 1min; }
    std::size_t outgoing_max_bytes() const override { return node_messages::outgoing_max_bytes; }

private:
    std::shared_ptr<Subtree> subtree_;
    std::function<void()> on_departure_;
};

}  // namespace

class NodeBeats::Sender {
public:
    explicit Sender(Options options)
        : options_(std::move(options)),
          key_{options_.secret, purpose, options_.supervisor.nodes},
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          random_(static_cast<unsigned>(options_.node) * 7919U + options_.supervisor.port +
                  static_cast<unsigned>(steady_clock::now().time_since_epoch() / 1us)),
          session_(static_cast<std::uint32_t>(random_())),
          stale_limit_(stale_limit_min + draw(0ms, stale_limit_spread_of_node * options_.supervisor.nodes)),
          subtree_(std::make_shared<Subtree>(options_.supervisor.nodes, options_.node)) {}

    void run() {
        // The parents of the others connect first.
        auto const nodes = options_.supervisor.nodes;
        bool const is_first = !options_.takes_over;
        if (is_first && node_tree::find_parent(nodes, options_.node) != node_tree::supervisor)
            wait(draw(0ms, first_connection_spread_of_node * nodes));
        auto const longest_pause = std::max(longest_pause_min, longest_pause_of_node * nodes);
        auto pause = first_pause;
        while (!is_ending()) {
            if (connect_and_serve()) pause = first_pause;
            // Differs between the nodes, so that they do not connect all at once.
            wait(draw(pause / 2, pause));
            pause = std::min(2 * pause, longest_pause);
        }
        if (must_leave()) leave();
        port_.reset();
        std::scoped_lock const lock(mutex_);
        has_ended_ = true;
        changed_.notify_all();
    }

    /// Lets the thread end. Waits for it at most leaving_limit.
    Left end() {
        std::unique_lock lock(mutex_);
        if (!std::exchange(is_ending_, true)) {
            leaving_until_ = steady_clock::now() + leaving_limit;
            signal(wake_);
            changed_.wait_for(lock, leaving_limit, [this] { return has_ended_; });
        }
        if (has_left_) return Left::known;
        return has_greeted_ ? Left::unconfirmed : Left::never_connected;
    }

private:
    static void signal(UniqueFd const& event) {
        std::uint64_t const one = 1;
        (void)!::write(event.get(), &one, sizeof one);
    }

    bool is_ending() const {
        std::scoped_lock const lock(mutex_);
        return is_ending_;
    }

    TimePoint leaving_until() const {
        std::scoped_lock const lock(mutex_);
        return leaving_until_;
    }

    bool must_leave() const {
        std::scoped_lock const lock(mutex_);
        return has_greeted_ && !has_left_;
    }

    std::chrono::milliseconds draw(std::chrono::milliseconds least, std::chrono::milliseconds most) {
        return std::chrono::milliseconds(
            std::uniform_int_distribution<long>(least.count(), most.count())(random_));
    }

    void wait(std::chrono::milliseconds pause) {
        auto const until = steady_clock::now() + pause;
        while (!is_ending() && steady_clock::now() < until) {
            pollfd entry{wake_.get(), POLLIN, 0};
            ::poll(&entry, 1, poll_timeout_ms(until, steady_clock::now()));
        }
    }

    /// \return whether a parent has answered
    bool connect_and_serve() {
        auto client = connect();
        if (!client) return false;
        auto served = serve(*client, node_tree::supervisor);
        if (!served.other_parent || is_ending()) return served.has_answered;
        auto const parent = served.other_parent->node;
        SessionKey const key{options_.secret, purpose_of_node(parent), options_.supervisor.nodes};
        auto const now = steady_clock::now();
        client.reset();
        auto joined = FrameClient::join(served.other_parent->listener, key, {options_.node},
                                        now + connect_limit + proof_limit, now + connect_limit);
        failed_parent_ = parent;
        return joined && serve(*joined, parent).has_answered;
    }

    /// Connects once more to tell the supervisor that the processes of the node have ended in order.
    void leave() {
        auto const until = leaving_until();
        if (steady_clock::now() >= until) return;
        Endpoint const supervisor{options_.supervisor.addresses.at(last_good_), options_.supervisor.port};
        auto client = FrameClient::join(supervisor, key_, {options_.node}, until);
        if (!client) return;
        subtree_->begin_uplink();
        say_that_it_leaves(*client, until);
    }

    /// Tries the addresses of the supervisor's host, that of the last connection first.
    std::optional<FrameClient> connect() {
        auto const& addresses = options_.supervisor.addresses;
        auto const limit =
            options_.supervisor.nodes > node_tree::fan_out ? long_connect_limit : connect_limit;
        for (std::size_t i = 0; i < addresses.size() && !is_ending(); ++i) {
            auto const at = (last_good_ + i) % addresses.size();
            auto const now = steady_clock::now();
            auto client = FrameClient::join({addresses[at], options_.supervisor.port}, key_, {options_.node},
                                            now + limit + proof_limit, now + limit);
            if (!client) continue;
            last_good_ = at;
            return *std::move(client);
        }
        return std::nullopt;
    }

    struct Served {
        bool has_answered = false;
        std::optional<UseParent> other_parent = {};
    };

    /// Exchanges messages until the connection breaks, is silent for too long, or another parent is named.
    Served serve(FrameClient& client, int parent) {
        bool const is_to_supervisor = parent == node_tree::supervisor;
        Served served;
        subtree_->begin_uplink();
        if (!greet(client, is_to_supervisor)) return served;
        UplinkSilence silence(is_to_supervisor, stale_limit_);
        std::vector<Attempt> attempts;
        auto next_beat = steady_clock::now();
        auto last_beat = next_beat - interval;
        for (;;) {
            auto const now = steady_clock::now();
            if (is_ending()) {
                say_that_it_leaves(client, leaving_until());
                return served;
            }
            // A child that ends waits until the supervisor knows.
            auto const due = [&] {
                auto const early = last_beat + between_early_beats;
                return subtree_->has_new_departures(now) ? std::min<TimePoint>(next_beat, early) : next_beat;
            };
            if (now >= due()) {
                if (now >= next_beat) next_beat = std::max(next_beat + interval, now + interval / 2);
                last_beat = now;
                auto const beat = subtree_->make_beat(find_activity(), now);
                if (!client.send(render(beat), now + transfer_limit)) return served;
            }
            bool const is_readable = poll_once(client, attempts, due());
            auto const after = steady_clock::now();
            silence.pass_time(std::chrono::duration_cast<std::chrono::milliseconds>(after - now));
            if (is_readable) {
                auto const message = receive(client);
                if (!message) return served;
                if (auto const* answer = std::get_if<BeatAnswer>(&*message)) {
                    served.has_answered = true;
                    silence.take_answer(std::chrono::milliseconds(answer->age_ms));
                    pass_on(*answer, after);
                } else if (auto const* other = std::get_if<UseParent>(&*message)) {
                    bool const is_valid = is_to_supervisor && other->node != options_.node;
                    if (is_valid) served.other_parent = *other;
                    return served;
                } else if (auto const* examine = std::get_if<Examine>(&*message)) {
                    if (attempts.size() < attempts_max)
                        attempts.push_back({*examine, {examine->listener, after}});
                }
            }
            if (!report(client, attempts) || silence.is_over()) return served;
        }
    }

    /// Sends the first frame of a connection: the session of this node and, to the supervisor, the address at
    /// which this node listens.
    bool greet(FrameClient& client, bool is_to_supervisor) {
        {
            std::scoped_lock const lock(mutex_);
            has_greeted_ = true;
        }
        Hello hello{session_};
        if (is_to_supervisor) {
            hello.failed_parent = std::exchange(failed_parent_, -1);
            hello.listener = listen(client);
        }
        return client.send(render(hello), steady_clock::now() + transfer_limit).has_value();
    }

    /// What descendants have said before they ended goes with the last beats. Then waits for the answer, and
    /// answers the children.
    void say_that_it_leaves(FrameClient& client, TimePoint until) {
        constexpr int beats_max = 8;
        subtree_->wait_for_children(children_limit);
        for (int i = 0; i < beats_max && subtree_->has_unsent_departures(); ++i) {
            auto const beat = subtree_->make_beat(std::nullopt, steady_clock::now());
            if (!client.send(render(beat), until)) return;
        }
        if (!client.send(render(Leaving{}), until)) return;
        for (;;) {
            auto const frame = client.receive(answer_limit_bytes, until);
            auto const message = frame ? parse_from_supervisor(*frame) : std::nullopt;
            if (!message) return;
            if (std::holds_alternative<LeavingKnown>(*message)) break;
            if (auto const* answer = std::get_if<BeatAnswer>(&*message)) {
                subtree_->take_answer(*answer, steady_clock::now());
                answer_children();
            }
        }
        subtree_->take_leaving_known();
        {
            std::scoped_lock const lock(mutex_);
            has_left_ = true;
        }
        answer_children();
        subtree_->wait_until_told(std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()));
    }

    /// Lets the children know whose end the supervisor knows now.
    void answer_children() {
        if (port_ && subtree_->has_known_children()) port_->tick_now();
    }

    /// Listens at the address that leads to the supervisor, unless it does already.
    /// \return where; nullopt if no port can be opened there
    std::optional<Endpoint> listen(FrameClient const& client) {
        auto const address = own_address_of(client.socket());
        if (port_ && port_->endpoint().address == address) return port_->endpoint();
        port_.reset();
        SessionKey const key{options_.secret, purpose_of_node(options_.node), options_.supervisor.nodes};
        try {
            auto port =
                FrameServer::start(address, key, frame_limit_bytes,
                                   std::make_unique<ChildServer>(subtree_, [this] { signal(news_); }));
            if (!port) return std::nullopt;
            port_ = *std::move(port);
        } catch (std::system_error const&) {
            return std::nullopt;  // no thread can be started now
        }
        port_->add_nodes(options_.supervisor.addresses);
        return port_->endpoint();
    }

    std::optional<std::uint64_t> find_activity() {
        std::scoped_lock const lock(mutex_);
        bool const may_ask = !is_ending_ && options_.find_activity;
        return may_ask ? options_.find_activity() : std::nullopt;
    }

    /// Waits until something happens, at most until the next beat.
    /// \return whether the supervisor has sent something
    bool poll_once(FrameClient const& client, std::vector<Attempt> const& attempts, TimePoint next_beat) {
        std::vector<pollfd> entries{
            {client.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}};
        auto until = next_beat;
        for (auto const& attempt : attempts) {
            entries.push_back({attempt.reach.fd(), POLLOUT, 0});
            until = std::min(until, attempt.reach.deadline());
        }
        ::poll(entries.data(), entries.size(), poll_timeout_ms(until, steady_clock::now()));
        std::uint64_t count = 0;
        if (entries[2].revents != 0) (void)!::read(news_.get(), &count, sizeof count);
        return entries[0].revents != 0;
    }

    static std::optional<FromSupervisor> receive(FrameClient& client) {
        auto const frame = client.receive(answer_limit_bytes, steady_clock::now() + transfer_limit);
        return frame ? parse_from_supervisor(*frame) : std::nullopt;
    }

    void pass_on(BeatAnswer const& answer, TimePoint now) {
        subtree_->take_answer(answer, now);
        answer_children();
        if (!UplinkSilence::is_fresh(std::chrono::milliseconds(answer.age_ms))) return;
        std::scoped_lock const lock(mutex_);
        if (!is_ending_ && options_.on_answer) options_.on_answer(answer.requests);
    }

    /// Reports the attempts that have ended. Returns false if the connection is broken.
    static bool report(FrameClient& client, std::vector<Attempt>& attempts) {
        bool is_sent = true;
        std::erase_if(attempts, [&](Attempt& attempt) {
            auto const now = steady_clock::now();
            auto const reach = attempt.reach.result(now);
            if (reach == Reach::unknown) return false;
            Examined const examined{attempt.asked.node, attempt.asked.round, reach};
            is_sent = is_sent && client.send(render(examined), now + transfer_limit);
            return true;
        });
        return is_sent;
    }

    Options const options_;
    SessionKey const key_;
    UniqueFd const wake_, news_;  // readable: this node ends; a child has told of a departure
    std::minstd_rand random_;
    std::uint32_t const session_;
    std::chrono::milliseconds const stale_limit_;
    std::shared_ptr<Subtree> const subtree_;
    std::unique_ptr<FrameServer> port_;
    std::size_t last_good_ = 0;
    int failed_parent_ = -1;  // for the next Hello
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool has_greeted_ = false;  // the supervisor or another node may know of this one
    bool has_left_ = false;     // the supervisor knows that the processes of the node have ended
    bool is_ending_ = false;
    TimePoint leaving_until_ = {};  // once it ends
    bool has_ended_ = false;
};

NodeBeats::NodeBeats(Options options) : sender_(std::make_shared<Sender>(std::move(options))) {
    start_thread("det-beats", [sender = sender_](auto const&) { sender->run(); }).detach();
}

NodeBeats::~NodeBeats() { leave(); }

NodeBeats::Left NodeBeats::leave() { return sender_->end(); }

}  // namespace det::transport
