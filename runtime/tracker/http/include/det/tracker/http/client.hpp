#pragma once
#include <det/tracker/http/message.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

namespace det::tracker::http {

struct UnixEndpoint {
    std::filesystem::path socket;
};
struct LoopbackEndpoint {
    std::uint16_t port = 0;
    std::string token = {};
};
using Endpoint = std::variant<UnixEndpoint, LoopbackEndpoint>;

struct ClientLimits {
    std::chrono::milliseconds connect_time = std::chrono::seconds(5);
    std::chrono::milliseconds response_time =
        std::chrono::seconds(60);  // from the request to its whole response
    std::uint64_t body_bytes = std::uint64_t{256} << 20;
};

/// A connection to a server on this host. It is kept open between requests. If it breaks when a request is
/// sent over it again, a new one is made and the request is sent once more. One thread at a time may use it.
class Client {
public:
    /// Does not connect yet.
    static std::unique_ptr<Client> make(Endpoint endpoint, ClientLimits limits = {});

    ~Client();
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;

    /// Sends a request and waits for the response, whatever its status. Fails with codes::transport if no
    /// server listens or the connection breaks, codes::timed_out at a limit of time,
    /// codes::document_too_large if the body of the response is larger than the limit, codes::bad_value if
    /// the path of the unix socket is too long for one.
    Result<Response> send(RawRequest const& request);
    /// The body of a response with status 200; the error that the server reports for any other status.
    Result<std::string> get(std::string const& target);

private:
    class State;
    explicit Client(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace det::tracker::http
