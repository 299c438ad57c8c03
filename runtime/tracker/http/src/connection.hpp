#pragma once
#include <det/foundation/files.hpp>
#include <det/tracker/http/access.hpp>
#include <det/tracker/http/limits.hpp>

#include <atomic>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace det::tracker::http {

/// One connection of a client: reads a request, has it answered, writes the response, reads the next one. All
/// functions run in the thread of the server, except where they say otherwise.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    virtual ~Connection() = default;
    virtual void start() = 0;
    virtual void close() = 0;
    /// Takes the response to the request with this number. A response to an earlier request is dropped.
    virtual void respond(std::uint64_t request_number, Response response) = 0;
    /// Responds at the deadline, but at most Limits::deferred_time from now.
    virtual void respond_at(std::uint64_t request_number, std::chrono::steady_clock::time_point deadline,
                            Response response) = 0;
};

/// The functions of the server that a connection calls.
struct ConnectionEvents {
    std::function<void()> on_begin;  // a request was received, well formed or not
    /// Takes a request that is well formed. `is_gone` becomes true when the client closes the connection
    /// before the response.
    std::function<void(std::shared_ptr<Connection> const&, RawRequest, std::uint64_t request_number,
                       std::shared_ptr<std::atomic<bool>> is_gone)>
        on_request;
    std::function<void()> on_end;  // the response was written, or the client has gone
    std::function<void(std::shared_ptr<Connection> const&)> on_close;
};

std::shared_ptr<Connection> make_connection(boost::asio::io_context& io, UniqueFd socket, Peer::Kind kind,
                                            Limits const& limits, ConnectionEvents events);

}  // namespace det::tracker::http
