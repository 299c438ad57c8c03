#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/tracker/http/client.hpp>
#include <det/tracker/http/server.hpp>

#include <boost/test/unit_test.hpp>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker::http;
using namespace std::chrono_literals;

namespace http_server_test {

using SteadyClock = std::chrono::steady_clock;

/// A server with a route for each feature, at a unix socket and at a TCP port.
struct Fixture {
    Fixture() { settings.limits.idle_time = 30s; }

    void start() {
        settings.unix_socket = directory / "s";
        settings.port = 0;
        settings.access.owner = ::geteuid();
        settings.access.token = "secret";
        std::vector<Route> routes;
        routes.push_back({Method::get, "/hello", AuthClass::owner, [](Request const&) {
                              return Response{200, "hello"};
                          }});
        routes.push_back({Method::post, "/echo", AuthClass::owner, [](Request const& request) {
                              return Response{200, request.body};
                          }});
        routes.push_back({Method::get, "/throw", AuthClass::owner,
                          [](Request const&) -> Response { throw std::runtime_error("it broke"); }});
        routes.push_back({Method::get, "/large", AuthClass::owner, [](Request const&) {
                              return Response{200, std::string(std::size_t{8} << 20, 'x')};
                          }});
        routes.push_back(
            {Method::get, "/later", AuthClass::owner, [this](Request const&, Responder responder) {
                 std::lock_guard const lock(mutex);
                 waiting.push_back(std::move(responder));
                 changed.notify_all();
             }});
        routes.push_back(
            {Method::get, "/soon", AuthClass::owner, [](Request const&, Responder const& responder) {
                 responder.respond_at(SteadyClock::now() + 20ms, {200, "soon"});
             }});
        routes.push_back(
            {Method::get, "/forgotten", AuthClass::owner, [](Request const&, Responder const&) {}});
        server = must(Server::start(settings, RouteTable(std::move(routes))));
    }

    Responder wait_for_deferred() {
        std::unique_lock lock(mutex);
        BOOST_REQUIRE(changed.wait_for(lock, 20s, [&] { return !waiting.empty(); }));
        auto responder = std::move(waiting.back());
        waiting.pop_back();
        return responder;
    }

    std::unique_ptr<Client> client() { return Client::make(UnixEndpoint{directory / "s"}); }

    TemporaryDirectory directory;
    ServerSettings settings;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Responder> waiting;
    std::unique_ptr<Server> server;
};

/// A connection that sends bytes as they are.
class RawConnection {
public:
    explicit RawConnection(std::filesystem::path const& path)
        : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.native().copy(address.sun_path, sizeof address.sun_path - 1);
        BOOST_REQUIRE(::connect(fd_.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    }
    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            auto const sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0) return;  // the server has closed
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    void end_input() { ::shutdown(fd_.get(), SHUT_WR); }
    void close() { fd_.reset(); }
    /// Reads until `text` has arrived, the connection has ended or 20 s have passed. Returns what arrived.
    std::string read_until(std::string_view text) {
        auto const deadline = SteadyClock::now() + 20s;
        while (received_.find(text) == std::string::npos) {
            pollfd query{fd_.get(), POLLIN, 0};
            if (::poll(&query, 1, poll_timeout_ms(deadline, SteadyClock::now())) <= 0)
                BOOST_FAIL("nothing came in 20 s");
            char buffer[65536];
            auto const size = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (size <= 0) break;
            received_.append(buffer, static_cast<std::size_t>(size));
        }
        return std::exchange(received_, {});
    }
    std::string read_all() { return read_until("\x01 never sent"); }

private:
    UniqueFd fd_;
    std::string received_;
};

UniqueFd call_tcp(std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    BOOST_REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    return socket;
}

/// Whether the server closes the connection within 20 s.
bool is_closed_by_server(UniqueFd const& socket) {
    pollfd query{socket.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&query, 1, 20'000) == 1 && ::recv(socket.get(), &byte, 1, 0) <= 0;
}

std::string const get_hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How often the server's threads have gone to sleep, by name and thread id.
std::map<std::string, std::string> switches_of_server_threads() {
    std::map<std::string, std::string> switches;
    for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "status");
        std::string name, line;
        while (std::getline(file, line)) {
            if (line.starts_with("Name:")) name = line + task.path().string();
            if (line.starts_with("voluntary_ctxt_switches:") && name.find("det-http") != std::string::npos)
                switches[name] = line;
        }
    }
    BOOST_REQUIRE(switches.size() == 3u);
    return switches;
}

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace http_server_test

BOOST_FIXTURE_TEST_SUITE(http_server_test, Fixture)

BOOST_AUTO_TEST_CASE(a_client_gets_responses_over_the_unix_socket_and_tcp) {
    start();
    auto const local = client();
    BOOST_TEST(must(local->get("/hello")) == "hello");
    BOOST_TEST(must(local->send({"POST", "/echo", {}, "abc"})).body == "abc");
    BOOST_TEST(must(local->send({"HEAD", "/hello"})).body.empty());
    BOOST_TEST(must(local->get("/hello")) == "hello");
    auto const remote = Client::make(LoopbackEndpoint{server->port(), "secret"});
    BOOST_TEST(must(remote->get("/hello")) == "hello");
    auto const stranger = Client::make(LoopbackEndpoint{server->port(), "guess"});
    BOOST_TEST(must_fail(stranger->get("/hello")).code.name == codes::unauthorized.name);
}

BOOST_AUTO_TEST_CASE(the_port_is_taken_on_both_loopback_addresses) {
    start();
    ServerSettings second;
    second.port = server->port();
    BOOST_TEST(must_fail(Server::start(second, RouteTable({}))).code.name == codes::name_taken.name);
    UniqueFd const probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(server->port());
    if (probe)
        BOOST_TEST(::bind(probe.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0);
}

BOOST_AUTO_TEST_CASE(the_socket_is_private) {
    start();
    struct stat found {};
    BOOST_REQUIRE(::stat((directory / "s").c_str(), &found) == 0);
    BOOST_TEST((found.st_mode & 0777) == 0600u);
    ServerSettings second = settings;
    BOOST_TEST(must_fail(Server::start(second, RouteTable({}))).code.name == codes::name_taken.name);
    server->stop();
    BOOST_TEST(!path_exists(directory / "s"));
    ::chmod(directory.path().c_str(), 0755);
    BOOST_TEST(must_fail(Server::start(second, RouteTable({}))).code.name == codes::unsafe_owner.name);
    ::chmod(directory.path().c_str(), 0700);
    second.unix_socket = directory / "link" / "s";
    std::filesystem::create_symlink(directory.path(), directory / "link");
    BOOST_TEST(must_fail(Server::start(second, RouteTable({}))).code.name == codes::unsafe_owner.name);
}

BOOST_AUTO_TEST_CASE(the_path_of_a_socket_has_at_most_107_bytes) {
    auto const name = std::string(107 - directory.path().native().size() - 1, 'n');
    settings.unix_socket = directory / name;
    BOOST_TEST(Server::start(settings, RouteTable({})).has_value());
    settings.unix_socket = directory / (name + "n");
    BOOST_TEST(must_fail(Server::start(settings, RouteTable({}))).code.name == codes::bad_value.name);
}

BOOST_AUTO_TEST_CASE(the_socket_of_a_killed_server_is_replaced) {
    {
        UniqueFd const killed(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (directory / "s").native().copy(address.sun_path, sizeof address.sun_path - 1);
        BOOST_REQUIRE(::bind(killed.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    }
    start();
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_process_of_another_user_is_refused) {
    settings.peer_uid = [](int) { return std::optional<uid_t>(::geteuid() + 1); };
    start();
    BOOST_TEST(must_fail(client()->get("/hello")).code.name == codes::forbidden.name);
}

BOOST_AUTO_TEST_CASE(responses_carry_the_standard_headers) {
    start();
    for (auto const* target : {"/hello", "/nothing"}) {
        auto const response = must(client()->send({"GET", target}));
        BOOST_TEST(find_headers(response.headers, "X-Content-Type-Options").at(0) == "nosniff");
        BOOST_TEST(contains(std::string(find_headers(response.headers, "Content-Security-Policy").at(0)),
                            "default-src 'none'"));
        BOOST_TEST(find_headers(response.headers, "Access-Control-Allow-Origin").empty());
    }
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_is_an_internal_error) {
    start();
    auto const error = must_fail(client()->get("/throw"));
    BOOST_TEST(error.code.name == codes::internal.name);
    BOOST_TEST(error.message == "it broke");
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order) {
    start();
    RawConnection connection(directory / "s");
    connection.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nfirst" + get_hello +
                    "GET /soon HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    auto const all = connection.read_all();
    auto const first = all.find("first");
    auto const hello = all.find("hello");
    auto const soon = all.find("soon");
    BOOST_TEST((first < hello && hello < soon && soon != std::string::npos), all);
}

BOOST_AUTO_TEST_CASE(a_request_in_single_bytes_is_answered) {
    start();
    RawConnection connection(directory / "s");
    for (char const c : get_hello) connection.send(std::string_view(&c, 1));
    BOOST_TEST(contains(connection.read_until("hello"), "200 OK"));
}

BOOST_AUTO_TEST_CASE(clients_that_stop_in_the_middle_are_disconnected) {
    settings.limits.request_time = 100ms;
    start();
    RawConnection half_header(directory / "s");
    half_header.send("GET /hello HTT");
    RawConnection half_body(directory / "s");
    half_body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
    BOOST_TEST(half_header.read_all().empty());
    BOOST_TEST(half_body.read_all().empty());
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_request_that_trickles_in_has_one_limit_of_time) {
    settings.limits.request_time = 200ms;
    start();
    RawConnection connection(directory / "s");
    auto const begin = SteadyClock::now();
    std::jthread const sender([&](std::stop_token const& stop) {
        connection.send("GET /hello HTTP/1.1\r\nX: ");
        while (!stop.stop_requested() && SteadyClock::now() < begin + 20s) {
            connection.send("y");
            ::poll(nullptr, 0, 10);
        }
    });
    BOOST_TEST(connection.read_all().empty());
    BOOST_TEST((SteadyClock::now() - begin >= 200ms));
}

BOOST_AUTO_TEST_CASE(idle_connections_are_closed_and_clients_connect_again) {
    settings.limits.idle_time = 50ms;
    start();
    auto const kept = client();
    BOOST_TEST(must(kept->get("/hello")) == "hello");
    RawConnection connection(directory / "s");
    BOOST_TEST(connection.read_all().empty());
    BOOST_TEST(must(kept->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_take_its_response_is_disconnected) {
    settings.limits.response_time = 100ms;
    start();
    RawConnection connection(directory / "s");
    connection.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto const deadline = SteadyClock::now() + 20s;
    auto const is_idle = [&] { return server->idle_since().has_value(); };
    connection.read_until("HTTP");  // the response is being written
    while (!is_idle() && SteadyClock::now() < deadline) ::poll(nullptr, 0, 5);
    BOOST_TEST(is_idle());
    BOOST_TEST(connection.read_all().size() < (std::size_t{8} << 20));
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(sizes_of_headers_and_bodies_are_limited_on_both_sides) {
    settings.limits.header_bytes = 1024;
    settings.limits.body_bytes = 1000;
    start();
    auto const with_padding = [&](std::size_t size) {
        RawConnection connection(directory / "s");
        connection.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(size, 'y') +
                        "\r\n\r\n");
        return connection.read_until("\r\n");
    };
    BOOST_TEST(contains(with_padding(900), " 200 "));
    BOOST_TEST(contains(with_padding(1100), " 431 "));
    BOOST_TEST(must(client()->send({"POST", "/echo", {}, std::string(1000, 'b')})).status == 200);
    BOOST_TEST(must(client()->send({"POST", "/echo", {}, std::string(1001, 'b')})).status == 413);
    RawConnection chunked(directory / "s");
    chunked.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                 std::string(1001, 'c') + "\r\n0\r\n\r\n");
    BOOST_TEST(contains(chunked.read_all(), " 413 "));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_http_get_400_and_the_end_of_the_connection) {
    start();
    for (auto const* bytes :
         {"\x16\x03\x01\x02\r\n\r\n", "GET /hello\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n",
          "GET /hello HTTP/1.1\r\nHost localhost\r\n\r\n",
          "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
          "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
          "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: "
          "chunked\r\n\r\n0\r\n\r\n"}) {
        RawConnection connection(directory / "s");
        connection.send(bytes);
        connection.end_input();
        BOOST_TEST(contains(connection.read_all(), " 400 "), bytes);
    }
}

BOOST_AUTO_TEST_CASE(random_bytes_do_not_disturb_the_server) {
    settings.limits.request_time = 2s;
    settings.limits.connections = 1000;
    start();
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        std::string bytes = round % 2 == 0 ? std::string() : get_hello;
        for (auto size = random() % 300; size > 0; --size)
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() + 1)),
                         static_cast<char>(random() % 256));
        RawConnection connection(directory / "s");
        connection.send(bytes);
        if (random() % 2 == 0) connection.close();
    }
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(connections_are_limited) {
    settings.limits.connections = 2;
    start();
    RawConnection first(directory / "s");
    auto second = std::make_optional<RawConnection>(directory / "s");
    for (auto* connection : {&first, &*second}) {
        connection->send(get_hello);
        BOOST_TEST(contains(connection->read_until("hello"), " 200 "));
    }
    RawConnection third(directory / "s");
    BOOST_TEST(contains(third.read_all(), " 503 "));
    second.reset();
    // The server may notice the end of the second connection later.
    auto const deadline = SteadyClock::now() + 20s;
    std::string answer;
    while (!contains(answer, " 200 ") && SteadyClock::now() < deadline) {
        RawConnection fourth(directory / "s");
        fourth.send(get_hello);
        answer = fourth.read_until("\r\n");
    }
    BOOST_TEST(contains(answer, " 200 "));
}

BOOST_AUTO_TEST_CASE(four_hundred_idle_tcp_connections_keep_the_owner_out_of_neither_socket) {
    start();
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 400; ++i) idle.push_back(call_tcp(server->port()));
    auto const begin = SteadyClock::now();
    BOOST_TEST(must(client()->get("/hello")) == "hello");
    auto const by_tcp = Client::make(LoopbackEndpoint{server->port(), "secret"}, {5s, 5s, 1000});
    BOOST_TEST(must(by_tcp->get("/hello")) == "hello");
    BOOST_TEST((SteadyClock::now() - begin < 3s));
}

BOOST_AUTO_TEST_CASE(a_tcp_connection_without_the_token_ends_after_its_time_and_one_with_it_stays) {
    settings.limits.pending.handshake = 1s;
    start();
    auto const silent = call_tcp(server->port());
    auto const owner = Client::make(LoopbackEndpoint{server->port(), "secret"}, {5s, 5s, 1000});
    BOOST_TEST(must(owner->get("/hello")) == "hello");
    auto const begin = SteadyClock::now();
    BOOST_TEST(is_closed_by_server(silent));
    BOOST_TEST((SteadyClock::now() - begin > 500ms));
    BOOST_TEST(must(owner->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_deferred_request_is_answered_from_another_thread) {
    start();
    RawConnection connection(directory / "s");
    connection.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n" + get_hello);
    auto const responder = wait_for_deferred();
    BOOST_TEST(!responder.is_done());
    BOOST_TEST(!server->idle_since().has_value());
    std::jthread([&] { responder.respond({200, "later"}); }).join();
    responder.respond({200, "too late"});
    BOOST_TEST(responder.is_done());
    auto const all = connection.read_until("hello");
    BOOST_TEST(all.find("later") < all.find("hello"));
    BOOST_TEST(!contains(all, "too late"));
}

BOOST_AUTO_TEST_CASE(a_deferred_request_is_answered_at_its_deadline) {
    start();
    BOOST_TEST(must(client()->get("/soon")) == "soon");
}

BOOST_AUTO_TEST_CASE(a_deferred_request_has_a_limit_of_time) {
    settings.limits.deferred_time = 50ms;
    start();
    auto const local = client();
    auto const error = must_fail(local->get("/later"));
    BOOST_TEST(error.code.name == codes::timed_out.name);
    wait_for_deferred().respond({200, "too late"});
    BOOST_TEST(must(local->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_deferred_request_without_responder_is_an_internal_error) {
    start();
    BOOST_TEST(must_fail(client()->get("/forgotten")).code.name == codes::internal.name);
}

BOOST_AUTO_TEST_CASE(a_responder_learns_that_its_client_has_gone) {
    start();
    RawConnection connection(directory / "s");
    connection.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto const responder = wait_for_deferred();
    connection.close();
    auto const deadline = SteadyClock::now() + 20s;
    while (!responder.is_done() && SteadyClock::now() < deadline) ::poll(nullptr, 0, 1);
    BOOST_TEST(responder.is_done());
    responder.respond({200, "nobody reads this"});
    BOOST_TEST(must(client()->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_server_stops_while_requests_wait) {
    start();
    RawConnection connection(directory / "s");
    connection.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto const responder = wait_for_deferred();
    server->stop();
    BOOST_TEST(connection.read_all().empty());
    responder.respond({200, "nobody is there"});
    server.reset();
    BOOST_TEST(responder.is_done());
    BOOST_TEST(must_fail(client()->get("/hello")).code.name == codes::transport.name);
}

BOOST_AUTO_TEST_CASE(a_client_waits_while_the_queue_of_connections_is_full) {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (directory / "full").native().copy(address.sun_path, sizeof address.sun_path - 1);
    BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    BOOST_REQUIRE(::listen(listener.get(), 0) == 0);
    RawConnection const first(directory / "full");  // no process accepts it
    auto const hasty = Client::make(UnixEndpoint{directory / "full"}, {50ms, 50ms, 1000});
    BOOST_TEST(!hasty->get("/hello").has_value());
    auto const patient = Client::make(UnixEndpoint{directory / "full"}, {20s, 100ms, 1000});
    std::jthread const server_thread([&] {
        ::poll(nullptr, 0, 50);
        UniqueFd const accepted(::accept(listener.get(), nullptr, nullptr));
    });
    // The connection waits in the listen queue, and no process answers.
    BOOST_TEST(must_fail(patient->get("/hello")).message.find("did not answer in time") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_has_limits_of_its_own) {
    start();
    auto const small = Client::make(UnixEndpoint{directory / "s"}, {5s, 60s, 1000});
    BOOST_TEST(must_fail(small->get("/large")).code.name == codes::document_too_large.name);
    auto const hasty = Client::make(UnixEndpoint{directory / "s"}, {5s, 50ms, 1000});
    BOOST_TEST(must_fail(hasty->get("/later")).code.name == codes::timed_out.name);
    BOOST_TEST(must(hasty->get("/hello")) == "hello");
}

BOOST_AUTO_TEST_CASE(a_server_without_requests_does_not_wake_up) {
    start();
    auto const kept = client();
    BOOST_TEST(must(kept->get("/hello")) == "hello");
    ::poll(nullptr, 0, 50);  // the threads go to sleep
    auto const before = switches_of_server_threads();
    ::poll(nullptr, 0, 500);
    BOOST_TEST((switches_of_server_threads() == before));
}

BOOST_AUTO_TEST_SUITE_END()
