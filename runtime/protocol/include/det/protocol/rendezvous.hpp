#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>

namespace det {

inline constexpr DocumentKind rendezvous_document{"meeting", 1};

/// The address on which the chief listens.
struct Endpoint {
    std::string address;  // IPv4 or IPv6 as text
    std::uint16_t port = 0;
    friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

/// The contents of the rendezvous file: the secret of the run, and the address of the chief once it listens.
struct Rendezvous {
    std::string secret;
    std::optional<Endpoint> chief = {};
    friend bool operator==(Rendezvous const&, Rendezvous const&) = default;
};

std::string render_rendezvous(Rendezvous const& rendezvous);
Result<Rendezvous> parse_rendezvous(std::string_view text);

}  // namespace det
