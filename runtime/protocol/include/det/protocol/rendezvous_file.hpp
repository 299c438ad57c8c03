#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>

namespace det {

inline constexpr DocumentKind rendezvous_document{"rendezvous", 1};

/// The address on which the chief listens.
struct Endpoint {
    std::string address;  // IPv4 or IPv6 as text
    std::uint16_t port = 0;
    friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

/// The contents of the rendezvous file: the secret of the run, and the address of the chief once it listens.
struct RendezvousFile {
    std::string secret;
    std::optional<Endpoint> chief = {};
    std::optional<int> ranks = {};  // number of ranks; only in a file that the chief itself has created
    friend bool operator==(RendezvousFile const&, RendezvousFile const&) = default;
};

std::string render_rendezvous_file(RendezvousFile const& rendezvous);
Result<RendezvousFile> parse_rendezvous_file(std::string_view text);

}  // namespace det
