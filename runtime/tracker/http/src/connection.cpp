#include "connection.hpp"

#include <det/tracker/http/request_parser.hpp>

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <sys/socket.h>

namespace det::tracker::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using SystemError = boost::system::error_code;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;
using Stream = beast::basic_stream<asio::generic::stream_protocol, asio::io_context::executor_type>;
using Parser = beast::http::request_parser<beast::http::string_body>;

void set_limits(Parser& parser, Limits const& limits) {
    parser.header_limit(limits.header_bytes);
    parser.body_limit(limits.body_bytes);
}

RawRequest take_request(Parser& parser) {
    auto message = parser.release();
    auto const text = [](auto const& view) { return std::string(view.data(), view.size()); };
    RawRequest request{text(message.method_string()), text(message.target())};
    for (auto const& field : message)
        request.headers.push_back({text(field.name_string()), text(field.value())});
    request.body = std::move(message.body());
    return request;
}

Response refusal_of(SystemError const& problem) {
    using beast::http::error;
    if (problem == error::header_limit || problem == error::buffer_overflow)
        return error_response(431, Error{codes::bad_request, "the headers of the request are too long"});
    if (problem == error::body_limit)
        return error_response(413, Error{codes::bad_request, "the body of the request is too long"});
    return error_response(400, Error{codes::bad_request, "this is no HTTP request: " + problem.message()});
}

/// Whether the client has closed the connection or was too slow: then it gets no answer.
bool is_end(SystemError const& problem) {
    return problem == beast::http::error::end_of_stream || problem == beast::http::error::partial_message ||
           problem == beast::error::timeout ||
           problem.category() != beast::http::make_error_code(beast::http::error::bad_method).category();
}

template <class Body>
void set_headers(beast::http::response<Body>& message, Response const& response) {
    message.set(beast::http::field::content_type, response.content_type);
    for (auto const& header : response.headers) message.insert(header.name, header.value);
    message.content_length(response.body.size());
}

class StreamConnection final : public Connection {
public:
    StreamConnection(asio::io_context& io, UniqueFd socket, Peer::Kind kind, Limits const& limits,
                     ConnectionEvents events)
        : stream_(Socket(io.get_executor(), protocol_of(kind), socket.release())),
          timer_(io),
          limits_(limits),
          events_(std::move(events)) {}

    void start() override { read_first_bytes(); }

    void close() override {
        if (is_closed_) return;
        is_closed_ = true;
        end_request();
        SystemError ignored;
        stream_.socket().shutdown(Socket::shutdown_both, ignored);
        stream_.close();
        timer_.cancel();
        events_.on_close(shared_from_this());
    }

    void respond(std::uint64_t request_number, Response response) override {
        if (is_closed_ || request_number != request_number_ || !is_waiting_) return;
        is_waiting_ = false;
        timer_.cancel();
        write(std::move(response));
    }

    void respond_at(std::uint64_t request_number, std::chrono::steady_clock::time_point deadline,
                    Response response) override {
        if (is_closed_ || request_number != request_number_ || !is_waiting_) return;
        auto const limit = std::chrono::steady_clock::now() + limits_.deferred_time;
        set_timer(std::min(deadline, limit), std::move(response));
    }

private:
    static asio::generic::stream_protocol protocol_of(Peer::Kind kind) {
        return kind == Peer::Kind::tcp ? asio::generic::stream_protocol(AF_INET, IPPROTO_TCP)
                                       : asio::generic::stream_protocol(AF_UNIX, 0);
    }

    std::shared_ptr<StreamConnection> self() {
        return std::static_pointer_cast<StreamConnection>(shared_from_this());
    }

    /// Waits for the first bytes of the next request, up to the idle time: the request time begins with them.
    void read_first_bytes() {
        if (buffer_.size() > 0) return read_request();
        stream_.expires_after(limits_.idle_time);
        stream_.async_read_some(buffer_.prepare(4096), [me = self()](SystemError problem, std::size_t size) {
            if (problem || me->is_closed_) return me->close();
            me->buffer_.commit(size);
            me->read_request();
        });
    }

    void read_request() {
        parser_.emplace();
        set_limits(*parser_, limits_);
        stream_.expires_after(limits_.request_time);
        beast::http::async_read(stream_, buffer_, *parser_, [me = self()](SystemError problem, std::size_t) {
            me->on_request_read(problem);
        });
    }

    void on_request_read(SystemError const& problem) {
        if (is_closed_) return;
        if (problem && is_end(problem)) return close();
        is_request_open_ = true;
        is_gone_ = std::make_shared<std::atomic<bool>>(false);
        ++request_number_;
        events_.on_begin();
        if (problem) {
            stays_open_ = false;
            is_head_ = false;
            return write(refusal_of(problem));
        }
        stays_open_ = parser_->get().keep_alive();
        is_head_ = parser_->get().method() == beast::http::verb::head;
        is_waiting_ = true;
        set_timer(std::chrono::steady_clock::now() + limits_.deferred_time,
                  error_response(Error{codes::timed_out, "the request took too long"}));
        events_.on_request(shared_from_this(), take_request(*parser_), request_number_, is_gone_);
        notice_close();
    }

    void set_timer(std::chrono::steady_clock::time_point deadline, Response response) {
        timer_.expires_at(deadline);
        timer_.async_wait([me = self(), number = request_number_,
                           response = std::move(response)](SystemError problem) mutable {
            if (!problem) me->respond(number, std::move(response));
        });
    }

    /// Ends the connection if the client closes it before the response. Bytes of a next request stay unread.
    void notice_close() {
        stream_.socket().async_wait(Socket::wait_read, [me = self(),
                                                        number = request_number_](SystemError problem) {
            if (problem || me->is_closed_ || number != me->request_number_ || !me->is_waiting_) return;
            char byte = 0;
            auto const got = ::recv(me->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) me->close();
        });
    }

    void write(Response response) {
        add_standard_headers(response);
        auto const status = static_cast<beast::http::status>(response.status);
        if (is_head_) {
            auto message = std::make_shared<beast::http::response<beast::http::empty_body>>(status, 11);
            set_headers(*message, response);
            return write_message(std::move(message));
        }
        auto message = std::make_shared<beast::http::response<beast::http::string_body>>(status, 11);
        set_headers(*message, response);
        message->body() = std::move(response.body);
        write_message(std::move(message));
    }

    template <class Message>
    void write_message(std::shared_ptr<Message> message) {
        message->keep_alive(stays_open_);
        stream_.expires_after(limits_.response_time);
        auto& reference = *message;
        beast::http::async_write(stream_, reference,
                                 [me = self(), kept = std::move(message)](SystemError problem, std::size_t) {
                                     me->on_written(problem);
                                 });
    }

    void on_written(SystemError const& problem) {
        if (is_closed_) return;
        if (problem) return close();
        end_request();
        if (stays_open_) return read_first_bytes();
        SystemError ignored;
        stream_.socket().shutdown(Socket::shutdown_send, ignored);
        stream_.expires_after(limits_.request_time);
        discard_input();
    }

    /// Reads on until the client closes: closing with unread input would reset the connection, and the client
    /// could lose the response.
    void discard_input() {
        buffer_.clear();
        stream_.async_read_some(buffer_.prepare(4096), [me = self()](SystemError problem, std::size_t) {
            if (problem || me->is_closed_) return me->close();
            me->discard_input();
        });
    }

    void end_request() {
        if (!is_request_open_) return;
        is_request_open_ = false;
        is_waiting_ = false;
        *is_gone_ = true;
        events_.on_end();
    }

    Stream stream_;
    beast::flat_buffer buffer_{std::size_t{1} << 17};
    std::optional<Parser> parser_;
    asio::steady_timer timer_;  // for the response, while it is due
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

}  // namespace

std::shared_ptr<Connection> make_connection(asio::io_context& io, UniqueFd socket, Peer::Kind kind,
                                            Limits const& limits, ConnectionEvents events) {
    return std::make_shared<StreamConnection>(io, std::move(socket), kind, limits, std::move(events));
}

std::variant<RawRequest, Incomplete, Response> parse_request(std::string_view bytes, Limits const& limits) {
    Parser parser;
    set_limits(parser, limits);
    parser.eager(true);
    SystemError problem;
    parser.put(asio::buffer(bytes.data(), bytes.size()), problem);
    if (problem == beast::http::error::need_more) return Incomplete{};
    if (problem) return refusal_of(problem);
    if (!parser.is_done()) return Incomplete{};
    return take_request(parser);
}

}  // namespace det::tracker::http
