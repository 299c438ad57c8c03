#include "connection.hpp"

#include <sys/socket.h>

#include "request_parser.hpp"

namespace det::tracker::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using SystemError = boost::system::error_code;

using Parser = Connection::Parser;

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

asio::generic::stream_protocol protocol_of(Peer::Kind kind) {
    return kind == Peer::Kind::tcp ? asio::generic::stream_protocol(AF_INET, IPPROTO_TCP)
                                   : asio::generic::stream_protocol(AF_UNIX, 0);
}

}  // namespace

Connection::Connection(asio::io_context& io, UniqueFd socket, Peer::Kind kind, Limits const& limits,
                       ConnectionEvents events)
    : stream_(Socket(io.get_executor(), protocol_of(kind), socket.release())),
      timer_(io),
      limits_(limits),
      events_(std::move(events)) {}

void Connection::start() { read_first_bytes(); }

void Connection::close() {
    if (is_closed_) return;
    is_closed_ = true;
    end_request();
    SystemError ignored;
    stream_.socket().shutdown(Socket::shutdown_both, ignored);
    stream_.close();
    timer_.cancel();
    events_.on_close(shared_from_this());
}

void Connection::respond(std::uint64_t request_number, Response response) {
    if (is_closed_ || request_number != request_number_ || !is_waiting_) return;
    is_waiting_ = false;
    timer_.cancel();
    write(std::move(response));
}

void Connection::respond_at(std::uint64_t request_number, std::chrono::steady_clock::time_point deadline,
                            Response response) {
    if (is_closed_ || request_number != request_number_ || !is_waiting_) return;
    auto const limit = std::chrono::steady_clock::now() + limits_.deferred_time;
    set_timer(std::min(deadline, limit), std::move(response));
}

void Connection::read_first_bytes() {
    if (buffer_.size() > 0) return read_request();
    stream_.expires_after(limits_.idle_time);
    stream_.async_read_some(buffer_.prepare(4096),
                            [me = shared_from_this()](SystemError problem, std::size_t size) {
                                if (problem || me->is_closed_) return me->close();
                                me->buffer_.commit(size);
                                me->read_request();
                            });
}

void Connection::read_request() {
    parser_.emplace();
    set_limits(*parser_, limits_);
    stream_.expires_after(limits_.request_time);
    beast::http::async_read(
        stream_, buffer_, *parser_,
        [me = shared_from_this()](SystemError problem, std::size_t) { me->on_request_read(problem); });
}

void Connection::on_request_read(SystemError const& problem) {
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

void Connection::set_timer(std::chrono::steady_clock::time_point deadline, Response response) {
    timer_.expires_at(deadline);
    timer_.async_wait([me = shared_from_this(), number = request_number_,
                       response = std::move(response)](SystemError problem) mutable {
        if (!problem) me->respond(number, std::move(response));
    });
}

void Connection::notice_close() {
    stream_.socket().async_wait(
        Socket::wait_read, [me = shared_from_this(), number = request_number_](SystemError problem) {
            if (problem || me->is_closed_ || number != me->request_number_ || !me->is_waiting_) return;
            char byte = 0;
            auto const got = ::recv(me->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) me->close();
        });
}

void Connection::write(Response response) {
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
void Connection::write_message(std::shared_ptr<Message> message) {
    message->keep_alive(stays_open_);
    stream_.expires_after(limits_.response_time);
    auto& reference = *message;
    beast::http::async_write(stream_, reference,
                             [me = shared_from_this(), kept = std::move(message)](
                                 SystemError problem, std::size_t) { me->on_written(problem); });
}

void Connection::on_written(SystemError const& problem) {
    if (is_closed_) return;
    if (problem) return close();
    end_request();
    if (stays_open_) return read_first_bytes();
    SystemError ignored;
    stream_.socket().shutdown(Socket::shutdown_send, ignored);
    stream_.expires_after(limits_.request_time);
    discard_input();
}

void Connection::discard_input() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(4096),
                            [me = shared_from_this()](SystemError problem, std::size_t) {
                                if (problem || me->is_closed_) return me->close();
                                me->discard_input();
                            });
}

void Connection::end_request() {
    if (!is_request_open_) return;
    is_request_open_ = false;
    is_waiting_ = false;
    *is_gone_ = true;
    events_.on_end();
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
