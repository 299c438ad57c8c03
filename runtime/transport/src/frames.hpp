#pragma once
#include <det/foundation/bytes.hpp>
#include <det/transport/rank_acceptor.hpp>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "socket.hpp"

namespace det::transport {

// Frames are messages of a client and a server that have authenticated each other by the handshake. On the
// wire the size of a frame precedes it, in 4 bytes.

/// Reads values from the front of a frame. value() and text() return nullopt if the frame is too short.
class FrameReader {
public:
    explicit FrameReader(std::string_view frame) : rest_(frame) {}

    template <std::integral T>
    std::optional<T> value() {
        if (rest_.size() < sizeof(T)) return std::nullopt;
        auto const read = read_value<T>(rest_, 0);
        rest_.remove_prefix(sizeof(T));
        return read;
    }
    std::optional<std::string_view> text() {
        auto const size = value<std::uint32_t>();
        if (!size || rest_.size() < *size) return std::nullopt;
        auto const read = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return read;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

inline void append_text(std::string& out, std::string_view text) {
    append_value(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

/// The connection of a rank to a FrameServer. All calls block, at most until the deadline. After an error the
/// client must not be used again.
class FrameClient {
public:
    /// Connects and authenticates.
    /// \param greeting_deadline limits the time to connect and to receive the server's first message
    /// \return codes::permission if the server rejected this rank or did not prove that it knows the secret;
    ///     codes::name_taken if it has such a rank already; another code if the handshake failed before.
    static Result<FrameClient> join(Endpoint const& server, SessionKey const& key, Rank rank,
                                    TimePoint deadline, TimePoint greeting_deadline = TimePoint::max());
    /// Like join(), but connects again until the deadline if the server closes the connection: a server to
    /// which strangers connect closes some connections.
    static Result<FrameClient> join_until(Endpoint const& server, SessionKey const& key, Rank rank,
                                          TimePoint deadline);

    Status send(std::string_view frame, TimePoint deadline);
    Result<std::string> receive(std::size_t limit_bytes, TimePoint deadline);
    int fd() const { return socket_.get(); }
    UniqueFd const& socket() const { return socket_; }

private:
    explicit FrameClient(UniqueFd socket) : socket_(std::move(socket)) {}

    UniqueFd socket_;
};

/// Handles the frames of authenticated ranks. The server's thread calls all functions. Post sends or queues a
/// frame and does not block; frames for a rank that is not connected are dropped.
class FrameHandler {
public:
    using Post = std::function<void(Rank to, std::string frame)>;

    virtual ~FrameHandler() = default;
    /// Whether a new connection of this rank replaces the one that it has. Otherwise the new one is refused.
    virtual bool is_replaceable(Rank) { return false; }
    virtual void on_joined(Rank, Post const&) {}
    /// Returns false for an invalid frame; the server then closes the connection.
    virtual bool on_frame(Rank from, std::string_view frame, Post const& post) = 0;
    /// Called after the connection of a rank was closed, for whatever reason, unless another one has replaced
    /// it.
    virtual void on_left(Rank, Post const&) {}
    /// Called about every tick().
    virtual void on_tick(TimePoint, Post const&) {}
    virtual std::chrono::milliseconds tick() const { return std::chrono::milliseconds(tick_ms); }
    static constexpr int tick_ms = 200;
    /// The connection of a rank ends if more waits to be sent to it.
    virtual std::size_t outgoing_max_bytes() const { return std::numeric_limits<std::size_t>::max(); }
};

/// A thread that accepts connections and exchanges frames with the ranks of a run. An Acceptor limits the
/// connections that have not authenticated.
class FrameServer {
public:
    static constexpr int tick_ms = FrameHandler::tick_ms;

    /// \param limits of connections that have not authenticated; nullopt: PendingLimits::for_ranks
    static Result<std::unique_ptr<FrameServer>> start(
        std::string const& address, SessionKey key, std::size_t frame_limit_bytes,
        std::unique_ptr<FrameHandler> handler, std::optional<liveness::PendingLimits> const& limits = {});
    ~FrameServer();
    FrameServer(FrameServer const&) = delete;
    FrameServer& operator=(FrameServer const&) = delete;

    Endpoint const& endpoint() const { return endpoint_; }
    /// Connections from these numeric addresses come before those of strangers. Thread-safe.
    void add_nodes(std::vector<std::string> addresses);
    /// Lets the thread call FrameHandler::on_tick now. Thread-safe.
    void tick_now();

private:
    struct Connection {
        UniqueFd socket;
        Rank member;
        std::string incoming;
        std::string outgoing;
        bool is_over = false;
    };

    FrameServer(UniqueFd wake, Endpoint endpoint, std::size_t frame_limit_bytes,
                std::unique_ptr<FrameHandler> handler);

    void serve();
    void poll_once(TimePoint until);
    void take_wake();
    void admit(liveness::Acceptor::Admitted admitted);
    void read_from(Connection& connection);
    void take_frames(Connection& connection);
    void write_to(Connection& connection);
    void close_ended();
    void post(Rank to, std::string const& frame);

    std::optional<liveness::Acceptor> acceptor_;  // always there once start() has returned
    UniqueFd wake_;
    Endpoint endpoint_;
    std::size_t frame_limit_bytes_;
    std::unique_ptr<FrameHandler> handler_;
    FrameHandler::Post post_;
    std::map<int, Connection> connections_;  // by file descriptor
    std::map<int, Connection*> members_;     // by rank
    std::mutex nodes_mutex_;
    std::vector<std::string> new_nodes_;  // addresses that the acceptor has not got yet
    std::atomic<bool> is_ending_ = false;
    std::atomic<bool> must_tick_ = false;
    std::jthread thread_;  // last, so that all members exist when it starts
};

}  // namespace det::transport
