#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

struct TcpBootstrapOptions {
    /// The address on which the chief listens for the other ranks. Used by the chief only.
    std::string chief_address = "127.0.0.1";
    BootstrapOptions waits = {};
};

/// Opens a bootstrap with a store in the chief's process, on a port that the system chooses.
///
/// \param rendezvous a file that all ranks can read (protocol/rendezvous.hpp). It contains the secret of the
/// run before
///     the ranks start; the chief adds its address. A client must prove that it knows the secret, which is
///     never sent; others are rejected and learn nothing. The data after the handshake is neither encrypted
///     nor signed.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, std::filesystem::path rendezvous,
                                                      TcpBootstrapOptions options = {});

}  // namespace det::transport
