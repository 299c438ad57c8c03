#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

struct TcpBootstrapOptions {
    /// At which of its addresses the others reach the chief; it listens there alone. For the chief.
    std::string chief_address = "127.0.0.1";
    BootstrapOptions waits = {};
};

/// Through a store in the chief's process, at a port that the system chose. `rendezvous` is a file that all
/// ranks see (protocol/rendezvous.hpp): it holds the run's secret when the ranks start, and the chief adds
/// where it listens. Who does not know the secret is turned away and learns nothing; the secret is never
/// sent. After that, what is said is neither hidden nor signed.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, std::filesystem::path rendezvous,
                                                      TcpBootstrapOptions options = {});

}  // namespace det::transport
