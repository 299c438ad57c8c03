#pragma once
#include "handshake.hpp"
#include "socket.hpp"

namespace det::transport {

/// The connection of a rank to a FrameServer. All calls block, at most until the deadline. After an error the
/// client must not be used again.
class FrameClient {
public:
    /// Connects and authenticates.
    /// \return codes::permission if the server rejected this rank; another code if the handshake failed
    ///     before.
    static Result<FrameClient> join(Endpoint const& server, SessionKey const& key, Rank rank,
                                    TimePoint deadline);

    Status send(std::string_view frame, TimePoint deadline);
    Result<std::string> receive(std::size_t limit_bytes, TimePoint deadline);
    int fd() const { return socket_.get(); }

private:
    explicit FrameClient(UniqueFd socket) : socket_(std::move(socket)) {}

    UniqueFd socket_;
};

}  // namespace det::transport
