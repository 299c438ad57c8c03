#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

struct TcpBootstrapOptions {
    /// The numeric IPv4 or IPv6 address on which the chief listens for the ranks. Used by the chief only.
    std::string chief_address = "127.0.0.1";
    BootstrapOptions waits = {};
    /// For open_tcp_bootstrap_with_new_secret(): how long a rank retries while the chief that the file names
    /// rejects it. The file may be an old one, whose port another program uses now.
    std::chrono::milliseconds rejection_limit = std::chrono::seconds(10);
};

/// Opens a bootstrap with a store in the chief's process, on a port that the system chooses. A rank must
/// prove that it knows the secret of the run, which is never sent; the store rejects all other clients. The
/// data after the handshake is neither encrypted nor signed. The chief does not wait for the other ranks; any
/// other rank blocks until it is connected to the chief.
///
/// \param rendezvous a file that all ranks can read and the chief can write
///     (protocol/rendezvous_file.hpp). It contains the secret before the ranks start; the chief adds its
///     address, and its destructor removes the address.
/// \return codes::permission if the secret or the size differs from the chief's; codes::name_taken if the
///     rank is connected already; codes::timed_out if the chief publishes no address within the time limit,
///     or the error of the last attempt to connect to that address; an error of the file, for example if it
///     does not exist; codes::bad_value on the chief for a chief_address that is not numeric.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, std::filesystem::path rendezvous,
                                                      TcpBootstrapOptions options = {});

/// Opens a bootstrap like open_tcp_bootstrap(), without a rendezvous file that was prepared: the chief
/// creates the file with a new secret, and removes it when all ranks have connected. A file that a killed
/// program has left is replaced. Collective; blocks until all ranks have connected.
///
/// \param rendezvous the path of the file, in a private directory that all ranks see. Programs that connect
///     at the same time need different files.
/// \return codes::name_taken on the chief if another chief is connecting its ranks by this file, and on any
///     other rank if the rank is connected already; codes::permission if the chief has another number of
///     ranks; codes::timed_out if not all ranks have connected within the time limit; codes::bad_value on the
///     chief for a chief_address that is not numeric.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap_with_new_secret(Rank rank, int size,
                                                                      std::filesystem::path rendezvous,
                                                                      TcpBootstrapOptions options = {});

}  // namespace det::transport
