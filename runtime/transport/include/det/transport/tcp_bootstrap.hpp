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

/// Opens a bootstrap with a store in the chief's process, on a port that the system chooses. A rank must
/// prove that it knows the secret of the run, which is never sent; the store rejects all other clients. The
/// data after the handshake is neither encrypted nor signed.
///
/// \param rendezvous a file that all ranks can read and the chief can write (protocol/rendezvous.hpp). It
///     contains the secret before the ranks start; the chief adds its address.
/// \return codes::permission if the secret or the size differs from the chief's, or if the rank is connected
///     already; codes::timed_out if the chief publishes no address within the time limit.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, std::filesystem::path rendezvous,
                                                      TcpBootstrapOptions options = {});

}  // namespace det::transport
