#include "frame_client.hpp"

#include <fmt/format.h>

#include "frame.hpp"

namespace det::transport {

Result<FrameClient> FrameClient::join(Endpoint const& server, SessionKey const& key, Rank rank,
                                      TimePoint deadline) {
    DET_TRY_ASSIGN(auto socket, connect_to(server, deadline));
    DET_TRY_ASSIGN(auto const greeting, receive_exactly(socket, greeting_bytes, deadline));
    auto const server_nonce = parse_greeting(greeting);
    if (!server_nonce) {
        return Error{codes::transport,
                     fmt::format("who listens at {} port {} is no run of ours", server.address, server.port)};
    }
    auto const answer = render_answer(key, rank, *server_nonce, make_nonce());
    DET_TRY(send_all(socket, answer, deadline));
    DET_TRY_ASSIGN(auto const verdict, receive_exactly(socket, verdict_bytes, deadline));
    switch (check_verdict(key, *server_nonce, answer, verdict)) {
        case Admission::accepted:
            return FrameClient(std::move(socket));
        case Admission::taken:
            return Error{codes::permission, fmt::format("there is a rank {} already", rank.value),
                         "give each rank a number of its own (RANK)"};
        case Admission::wrong_proof:
            break;
    }
    return Error{
        codes::permission,
        fmt::format("rank {} of {} was turned away by the chief at {} port {}: the secret or the number "
                    "of ranks is another there",
                    rank.value, key.size, server.address, server.port)};
}

Status FrameClient::send(std::string_view frame, TimePoint deadline) {
    return send_all(socket_, wrap_frame(frame), deadline);
}

Result<std::string> FrameClient::receive(std::size_t limit_bytes, TimePoint deadline) {
    DET_TRY_ASSIGN(auto const head, receive_exactly(socket_, frame_head_bytes, deadline));
    auto const size = frame_size(head);
    if (size > limit_bytes) {
        return Error{codes::transport,
                     fmt::format("the chief announced {} bytes, more than {}", size, limit_bytes)};
    }
    return receive_exactly(socket_, size, deadline);
}

}  // namespace det::transport
