#pragma once
#include <det/foundation/files.hpp>
#include <det/tracker/http/access.hpp>
#include <det/tracker/http/limits.hpp>

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <memory>
#include <optional>

namespace det::tracker::http {

class Connection;

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

/// One connection of a client: reads a request, has it answered, writes the response, reads the next one. All
/// functions run in the thread of the server, except where they say otherwise. It lives in a shared_ptr.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    Connection(boost::asio::io_context& io, UniqueFd socket, Peer::Kind kind, Limits const& limits,
               ConnectionEvents events);
    void start();
    void close();
    /// Takes the response to the request with this number. A response to an earlier request is dropped.
    void respond(std::uint64_t request_number, Response response);
    /// Responds at the deadline, but at most Limits::deferred_time from now.
    void respond_at(std::uint64_t request_number, std::chrono::steady_clock::time_point deadline,
                    Response response);

private:
    using SystemError = boost::system::error_code;
    using Executor = boost::asio::io_context::executor_type;
    using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;
    using Stream = boost::beast::basic_stream<boost::asio::generic::stream_protocol, Executor>;

    /// Waits for the first bytes of the next request, up to the idle time: the request time begins with them.
    void read_first_bytes();
    void read_request();
    void on_request_read(SystemError const& problem);
    void set_timer(std::chrono::steady_clock::time_point deadline, Response response);
    /// Ends the connection if the client closes it before the response. Bytes of a next request stay unread.
    void notice_close();
    void write(Response response);
    template <class Message>
    void write_message(std::shared_ptr<Message> message);
    void on_written(SystemError const& problem);
    /// Reads on until the client closes: closing with unread input would reset the connection, and the client
    /// could lose the response.
    void discard_input();
    void end_request();

    Stream stream_;
    boost::beast::flat_buffer buffer_{std::size_t{1} << 17};
    std::optional<Parser> parser_;
    boost::asio::steady_timer timer_;  // for the response, while it is due
    Limits limits_;
    ConnectionEvents events_;
    std::shared_ptr<std::atomic<bool>> is_gone_;
    std::uint64_t request_number_ = 0;
    bool is_request_open_ = false;  // from its last byte until its response is written
    bool is_waiting_ = false;       // for its response
    bool stays_open_ = true;
    bool is_head_ = false;
    bool is_closed_ = false;
};

}  // namespace det::tracker::http
