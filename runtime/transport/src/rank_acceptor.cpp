#include <det/transport/rank_acceptor.hpp>

#include <fmt/format.h>

#include "socket.hpp"

namespace det::transport {
namespace {

std::string nonce_of(std::string_view greeting) { return parse_greeting(greeting).value_or(""); }

}  // namespace

Result<liveness::Acceptor> make_rank_acceptor(UniqueFd listener, SessionKey const& key,
                                              std::function<bool(Rank)> is_connected,
                                              std::optional<liveness::PendingLimits> const& limits) {
    liveness::Acceptor::Handshake handshake;
    handshake.answer_bytes = answer_bytes;
    handshake.make_greeting = [] { return render_greeting(make_nonce()); };
    handshake.check = [key, is_connected = std::move(is_connected)](std::string_view greeting,
                                                                    std::string_view answer) {
        auto const nonce = nonce_of(greeting);
        auto const rank = check_answer(key, nonce, answer);
        auto const admission = !rank                 ? Admission::wrong_proof
                               : is_connected(*rank) ? Admission::taken
                                                     : Admission::accepted;
        liveness::Acceptor::Verdict verdict{std::nullopt, render_verdict(key, admission, nonce, answer)};
        if (admission == Admission::accepted) verdict.peer = rank->value;
        return verdict;
    };
    return liveness::Acceptor::make(std::move(listener), std::move(handshake),
                                    limits.value_or(liveness::PendingLimits::for_ranks(key.size)));
}

Status authenticate(UniqueFd const& socket, Endpoint const& server, SessionKey const& key, Rank rank,
                    TimePoint deadline, TimePoint greeting_deadline) {
    DET_TRY_ASSIGN(auto const greeting,
                   receive_exactly(socket, greeting_bytes, std::min(deadline, greeting_deadline)));
    auto const server_nonce = parse_greeting(greeting);
    if (!server_nonce) {
        return Error{codes::transport, fmt::format("the server at {} port {} does not belong to a run",
                                                   server.address, server.port)};
    }
    auto const answer = render_answer(key, rank, *server_nonce, make_nonce());
    DET_TRY(send_all(socket, answer, deadline));
    DET_TRY_ASSIGN(auto const verdict, receive_exactly(socket, verdict_bytes, deadline));
    switch (check_verdict(key, *server_nonce, answer, verdict)) {
        case Admission::accepted:
            return Ok{};
        case Admission::taken:
            return Error{codes::name_taken, fmt::format("there is a rank {} already", rank.value),
                         "give each rank a number of its own (RANK)"};
        case Admission::wrong_proof:
            break;
    }
    return Error{
        codes::permission,
        fmt::format("rank {} of {} was rejected by the chief at {} port {}: the secret or the number "
                    "of ranks differs there",
                    rank.value, key.size, server.address, server.port)};
}

}  // namespace det::transport
