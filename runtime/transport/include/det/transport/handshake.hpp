#pragma once
#include <det/protocol/ids.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::transport {

// In the handshake both sides prove that they know the run's secret without sending it. The server sends a
// nonce (the greeting). The client answers with its rank, its own nonce, and a proof: an HMAC over the rank,
// the number of ranks, the purpose of the server and both nonces. The server replies with a verdict and its
// own proof.

/// The secret and the data on which both sides must agree.
struct SessionKey {
    std::string secret;
    std::string purpose;  // the kind of server, for example "store": a proof is valid for one kind only
    int size = 1;         // number of ranks
};

enum class Admission : char {
    accepted = 'W',
    wrong_proof = 'P',  // the secret, the purpose or the number of ranks differs
    taken = 'T',        // a client with this rank is connected already
};

inline constexpr std::size_t nonce_bytes = 36;
inline constexpr std::size_t proof_bytes = 64;
inline constexpr std::size_t greeting_bytes = 8 + nonce_bytes;
inline constexpr std::size_t answer_bytes = 8 + nonce_bytes + proof_bytes;
inline constexpr std::size_t verdict_bytes = 1 + proof_bytes;

std::string make_nonce();

std::string render_greeting(std::string_view server_nonce);
std::optional<std::string> parse_greeting(std::string_view greeting);

std::string render_answer(SessionKey const& key, Rank rank, std::string_view server_nonce,
                          std::string_view client_nonce);
/// Returns the rank of the client if the proof is right and the rank is below the number of ranks.
std::optional<Rank> check_answer(SessionKey const& key, std::string_view server_nonce,
                                 std::string_view answer);

/// The verdict includes the server's proof if the client is accepted.
std::string render_verdict(SessionKey const& key, Admission admission, std::string_view server_nonce,
                           std::string_view answer);
/// Returns the server's verdict, or wrong_proof if the server's own proof is wrong. Admission::taken comes
/// without a proof of the server.
Admission check_verdict(SessionKey const& key, std::string_view server_nonce, std::string_view answer,
                        std::string_view verdict);

}  // namespace det::transport
