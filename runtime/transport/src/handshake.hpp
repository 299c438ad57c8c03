#pragma once
#include <det/protocol/ids.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::transport {

// The handshake in which both sides prove that they know the run's secret without sending it. The server
// sends a nonce. The client replies with its rank, its own nonce, and a proof (HMAC) over all of it. The
// server replies with a verdict and its own proof. Pure functions.

/// The secret and the data on which both sides must agree.
struct SessionKey {
    std::string secret;
    std::string purpose;  // "store": a proof for one kind of server is none for another
    int size = 1;
};

enum class Admission : char {
    accepted = 'W',
    wrong_proof = 'P',  // another secret, purpose or number of ranks
    taken = 'T',        // a rank that is here already
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
/// Returns the rank of the client if the proof is right.
std::optional<Rank> check_answer(SessionKey const& key, std::string_view server_nonce,
                                 std::string_view answer);

/// Includes the server's proof if the client is accepted.
std::string render_verdict(SessionKey const& key, Admission admission, std::string_view server_nonce,
                           std::string_view answer);
/// wrong_proof too where the server's own proof is wrong.
Admission check_verdict(SessionKey const& key, std::string_view server_nonce, std::string_view answer,
                        std::string_view verdict);

}  // namespace det::transport
