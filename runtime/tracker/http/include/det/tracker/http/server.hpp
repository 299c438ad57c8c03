#pragma once
#include <det/tracker/http/access.hpp>
#include <det/tracker/http/limits.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace det::tracker::http {

struct ServerSettings {
    std::optional<std::filesystem::path> unix_socket = {};
    std::optional<std::uint16_t> port = {};  // on 127.0.0.1 and ::1; 0: any free port
    AccessRules access = {};
    Limits limits = {};
    unsigned workers = 2;  // threads that run handlers
    /// Determines the uid of the process at the other end of a unix socket. For tests.
    std::function<std::optional<uid_t>(int socket)> peer_uid = {};
};

/// An HTTP/1.1 server. One thread does all input and output, `workers` threads run the handlers. Without
/// requests no thread wakes up.
class Server {
public:
    /// Listens and starts the threads. Fails with codes::name_taken if another process listens there,
    /// codes::unsafe_owner if the directory of the unix socket is not private (mode 0700, of this user),
    /// codes::bad_value if the path of the socket is too long for one.
    static Result<std::unique_ptr<Server>> start(ServerSettings settings, RouteTable routes);

    ~Server();
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;

    /// The TCP port; 0 without one.
    std::uint16_t port() const;
    /// When the last request was answered, at first when the server started; nullopt while it answers one.
    /// Thread-safe.
    std::optional<std::chrono::steady_clock::time_point> idle_since() const;
    /// Stops listening, closes all connections and ends the threads. Handlers that run are waited for.
    void stop();

private:
    class State;
    explicit Server(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace det::tracker::http
