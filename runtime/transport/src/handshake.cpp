#include <det/foundation/bytes.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/uuid.hpp>
#include <det/transport/handshake.hpp>

#include <fmt/format.h>

namespace det::transport {
namespace {

constexpr std::string_view magic = "DETMEET1";

/// An HMAC over all values of the handshake, so that the proof is not valid in any other handshake.
std::string proof(SessionKey const& key, std::string_view side, Rank rank, std::string_view server_nonce,
                  std::string_view client_nonce) {
    return hmac_sha256(key.secret, fmt::format("{} {} {} rank {} of {} {} {}", magic, key.purpose, side,
                                               rank.value, key.size, server_nonce, client_nonce));
}

struct Answer {
    Rank rank;
    std::string_view nonce;
    std::string_view proof;
};

/// Parses an answer, which must have the right size.
Answer read_answer(std::string_view answer) {
    return {{read_value<std::int32_t>(answer, 0)},
            answer.substr(8, nonce_bytes),
            answer.substr(8 + nonce_bytes, proof_bytes)};
}

}  // namespace

std::string make_nonce() { return make_uuid(); }

std::string render_greeting(std::string_view server_nonce) {
    return std::string(magic) + std::string(server_nonce);
}

std::optional<std::string> parse_greeting(std::string_view greeting) {
    if (greeting.size() != greeting_bytes || !greeting.starts_with(magic)) return std::nullopt;
    return std::string(greeting.substr(magic.size()));
}

std::string render_answer(SessionKey const& key, Rank rank, std::string_view server_nonce,
                          std::string_view client_nonce) {
    std::string answer;
    append_value(answer, std::int32_t{rank.value});
    append_value(answer, std::int32_t{0});  // reserved
    answer += client_nonce;
    return answer + proof(key, "client", rank, server_nonce, client_nonce);
}

std::optional<Rank> check_answer(SessionKey const& key, std::string_view server_nonce,
                                 std::string_view answer) {
    if (answer.size() != answer_bytes) return std::nullopt;
    auto const given = read_answer(answer);
    auto const wanted = proof(key, "client", given.rank, server_nonce, given.nonce);
    if (!equal_in_constant_time(given.proof, wanted)) return std::nullopt;
    if (given.rank.value < 0 || given.rank.value >= key.size) return std::nullopt;
    return given.rank;
}

std::string render_verdict(SessionKey const& key, Admission admission, std::string_view server_nonce,
                           std::string_view answer) {
    auto const given = read_answer(answer);
    auto const own_proof = admission == Admission::accepted
                               ? proof(key, "server", given.rank, server_nonce, given.nonce)
                               : std::string(proof_bytes, '-');
    return static_cast<char>(admission) + own_proof;
}

Admission check_verdict(SessionKey const& key, std::string_view server_nonce, std::string_view answer,
                        std::string_view verdict) {
    if (verdict.size() != verdict_bytes) return Admission::wrong_proof;
    if (verdict.front() == static_cast<char>(Admission::taken)) return Admission::taken;
    auto const given = read_answer(answer);
    auto const wanted = proof(key, "server", given.rank, server_nonce, given.nonce);
    bool const is_proven = equal_in_constant_time(verdict.substr(1), wanted);
    return is_proven ? Admission::accepted : Admission::wrong_proof;
}

}  // namespace det::transport
