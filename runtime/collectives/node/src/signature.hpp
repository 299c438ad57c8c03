#pragma once
#include <det/collectives/call.hpp>

#include <cstdint>

namespace det::collectives::node {

/// What a rank writes to say that it has come: the number of the operation in its lower part, so that it
/// differs from that of the operation before whatever was called, and above it what was called.
inline constexpr int sequence_bits = 16;
inline constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;

/// Few instructions: it is on the way of every operation.
inline std::uint64_t mix(std::uint64_t count, std::uint64_t rest) {
    auto const sum = count * 0x9e37'79b9'7f4a'7c15u + rest * 0xbf58'476d'1ce4'e5b9u;
    return (sum ^ (sum >> 32)) * 0x94d0'49bb'1331'11ebu;
}

inline std::uint64_t signature_of(collectives::Call const& call, bool is_refusal) {
    auto const rest = static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32 |
                      static_cast<std::uint64_t>(call.kind) << 16 |
                      static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op);
    auto const fingerprint = is_refusal ? 0 : mix(call.count, rest + 1) | (sequence_mask + 1);
    return (fingerprint & ~sequence_mask) | ((call.sequence + 1) & sequence_mask);
}

}  // namespace det::collectives::node
