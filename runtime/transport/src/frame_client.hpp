#pragma once
#include "handshake.hpp"
#include "socket.hpp"

namespace det::transport {

/// A rank's side of a FrameServer: waits for what it sends and receives. After an error it is of no more use.
class FrameClient {
public:
    /// codes::permission where the server turned us away; else whatever kept us from coming that far.
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
