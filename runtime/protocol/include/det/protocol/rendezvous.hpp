#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>

namespace det {

inline constexpr DocumentKind rendezvous_document{"meeting", 1};

/// Where the chief listens.
struct Endpoint {
    std::string address;  // IPv4 or IPv6 as text
    std::uint16_t port = 0;
    friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

/// What ranks must know to find each other: a secret of the run, and once the chief listens, where.
struct Rendezvous {
    std::string secret;
    std::optional<Endpoint> chief = {};
    friend bool operator==(Rendezvous const&, Rendezvous const&) = default;
};

std::string render_rendezvous(Rendezvous const& rendezvous);
Result<Rendezvous> parse_rendezvous(std::string_view text);

}  // namespace det
