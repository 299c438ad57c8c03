#include <det/tracker/http/client.hpp>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <sys/un.h>
#include <thread>

namespace det::tracker::http {
namespace client {

namespace asio = boost::asio;
namespace beast = boost::beast;
using SystemError = boost::system::error_code;
using ClientStream = beast::basic_stream<asio::generic::stream_protocol, asio::io_context::executor_type>;
using Deadline = std::chrono::steady_clock::time_point;

// Beast receives no more at a time than the buffer has room for: 512 bytes at first.
constexpr std::size_t receive_size_bytes = std::size_t{1} << 16;

}  // namespace client

using namespace client;

class Client::State {
public:
    State(Endpoint endpoint, ClientLimits limits) : endpoint_(std::move(endpoint)), limits_(limits) {}

    Result<Response> send(RawRequest const& request) {
        auto const deadline = std::chrono::steady_clock::now() + limits_.response_time;
        bool const was_open = stream_.has_value();
        if (!was_open) DET_TRY(connect());
        auto response = exchange(request, deadline);
        // The server closes a connection that was idle for long.
        bool const may_be_stale = !response && was_open && response.error().code == codes::transport;
        if (may_be_stale) {
            stream_.reset();
            DET_TRY(connect());
            response = exchange(request, deadline);
        }
        if (!response) stream_.reset();
        return response;
    }

private:
    std::string name() const {
        if (auto const* local = std::get_if<UnixEndpoint>(&endpoint_))
            return "'" + local->socket.string() + "'";
        return fmt::format("port {}", std::get<LoopbackEndpoint>(endpoint_).port);
    }

    Error failure(std::string_view what, SystemError const& problem) const {
        if (problem == beast::error::timeout)
            return Error{codes::timed_out, fmt::format("the server at {} did not answer in time", name())};
        if (problem == beast::http::error::body_limit)
            return Error{codes::document_too_large,
                         fmt::format("the response exceeds {} bytes", limits_.body_bytes)};
        return Error{codes::transport,
                     fmt::format("cannot {} the server at {}: {}", what, name(), problem.message())};
    }

    Status connect() {
        asio::generic::stream_protocol::endpoint address;
        if (auto const* local = std::get_if<UnixEndpoint>(&endpoint_)) {
            if (local->socket.native().size() >= sizeof sockaddr_un{}.sun_path)
                return Error{codes::bad_value, fmt::format("the path {} is too long for a socket", name())};
            address = asio::local::stream_protocol::endpoint(local->socket.native());
        } else {
            address = asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(),
                                              std::get<LoopbackEndpoint>(endpoint_).port);
        }
        auto const deadline = std::chrono::steady_clock::now() + limits_.connect_time;
        for (;;) {
            stream_.emplace(io_.get_executor());
            buffer_.clear();
            buffer_.reserve(receive_size_bytes);
            SystemError outcome;
            stream_->expires_at(deadline);
            stream_->async_connect(address, [&](SystemError problem) { outcome = problem; });
            run();
            if (!outcome) return Ok{};
            stream_.reset();
            // The listen queue of the server is full. The kernel does not report when that has changed.
            bool const is_queue_full = outcome == asio::error::no_buffer_space;
            if (!is_queue_full || std::chrono::steady_clock::now() >= deadline)
                return failure("connect to", outcome);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    Result<Response> exchange(RawRequest const& request, Deadline deadline) {
        auto const verb = beast::http::string_to_verb(request.method);
        beast::http::request<beast::http::string_body> message;
        message.version(11);
        message.method_string(request.method);
        message.target(request.target);
        message.set(beast::http::field::host, "localhost");
        if (auto const* loopback = std::get_if<LoopbackEndpoint>(&endpoint_);
            loopback && !loopback->token.empty())
            message.set(beast::http::field::authorization, "Bearer " + loopback->token);
        for (auto const& header : request.headers) message.set(header.name, header.value);
        message.body() = request.body;
        message.prepare_payload();
        SystemError outcome;
        stream_->expires_at(deadline);
        beast::http::async_write(*stream_, message,
                                 [&](SystemError problem, std::size_t) { outcome = problem; });
        run();
        if (outcome) return failure("send to", outcome);

        beast::http::response_parser<beast::http::string_body> parser;
        parser.body_limit(limits_.body_bytes);
        parser.skip(verb == beast::http::verb::head);
        stream_->expires_at(deadline);
        auto const done = [&](SystemError problem, std::size_t) { outcome = problem; };
        beast::http::async_read_header(*stream_, buffer_, parser, done);
        run();
        // Beast 1.74 does not compare the Content-Length of a response with body_limit().
        if (!outcome && parser.content_length().value_or(0) > limits_.body_bytes)
            outcome = beast::http::error::body_limit;
        if (!outcome && !parser.is_done()) {
            stream_->expires_at(deadline);
            beast::http::async_read(*stream_, buffer_, parser, done);
            run();
        }
        if (outcome) return failure("receive from", outcome);
        if (!parser.get().keep_alive()) stream_.reset();
        return to_response(parser.release());
    }

    static Response to_response(beast::http::response<beast::http::string_body> message) {
        Response response{static_cast<int>(message.result_int()), std::move(message.body()), {}, {}};
        for (auto const& field : message) {
            response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
            if (field.name() == beast::http::field::content_type)
                response.content_type = std::string(field.value());
        }
        return response;
    }

    void run() {
        io_.restart();
        io_.run();
    }

    Endpoint endpoint_;
    ClientLimits limits_;
    asio::io_context io_{1};
    beast::flat_buffer buffer_;
    std::optional<ClientStream> stream_;
};

std::unique_ptr<Client> Client::make(Endpoint endpoint, ClientLimits limits) {
    return std::unique_ptr<Client>(new Client(std::make_unique<State>(std::move(endpoint), limits)));
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;
Result<Response> Client::send(RawRequest const& request) { return state_->send(request); }

Result<std::string> Client::get(std::string const& target) {
    DET_TRY_ASSIGN(auto response, send({"GET", target}));
    if (response.status != 200) return parse_error_response(response);
    return std::move(response.body);
}

}  // namespace det::tracker::http
