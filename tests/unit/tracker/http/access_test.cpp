#include <det/tracker/http/access.hpp>

#include <boost/test/unit_test.hpp>
#include <random>

#include "check_result.hpp"
#include "request_parser.hpp"

using namespace det;
using namespace det::tracker::http;

namespace {

Response named(std::string name, Request const& request) {
    for (auto const& [key, value] : request.path_values) name += " " + key + "=" + value;
    return {200, name};
}

Route route(Method method, std::string pattern, AuthClass auth = AuthClass::owner) {
    return {method, pattern, auth, [pattern](Request const& request) { return named(pattern, request); }};
}

RouteTable const table({route(Method::get, "/"), route(Method::get, "/open", AuthClass::anyone),
                        route(Method::get, "/things"), route(Method::post, "/things"),
                        route(Method::get, "/things/{id}"), route(Method::get, "/things/best"),
                        route(Method::get, "/things/{id}/parts/{part}"),
                        route(Method::post, "/act", AuthClass::acting_owner)});

constexpr uid_t owner = 1000;
AccessRules const rules{owner, "secret", {"node1.example"}, 8};
Peer const local{Peer::Kind::unix_socket, owner};
Peer const foreign{Peer::Kind::unix_socket, owner + 1};
Peer const remote{Peer::Kind::tcp, {}};

RawRequest request(std::string method, std::string target, Headers headers = {}) {
    headers.insert(headers.begin(), {"Host", "localhost:8080"});
    return {std::move(method), std::move(target), std::move(headers)};
}

int status(RawRequest const& raw, Peer const& peer = local) {
    auto const decision = route_request(raw, peer, rules, table);
    auto const* refusal = std::get_if<Response>(&decision);
    return refusal ? refusal->status : 200;
}

std::string answer(std::string const& target) {
    auto const decision = route_request(request("GET", target), local, rules, table);
    auto const& routed = std::get<RoutedRequest>(decision);
    return std::get<Handler>(routed.route->handler)(routed.request).body;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_access)

BOOST_AUTO_TEST_CASE(requests_find_their_routes) {
    BOOST_TEST(answer("/") == "/");
    BOOST_TEST(answer("/things/7") == "/things/{id} id=7");
    BOOST_TEST(answer("/things/best") == "/things/best");
    BOOST_TEST(answer("/things/a%20b/parts/2") == "/things/{id}/parts/{part} id=a b part=2");
    BOOST_TEST(status(request("HEAD", "/things/7")) == 200);
    BOOST_TEST(status(request("POST", "/things")) == 200);
    BOOST_TEST(status(request("GET", "/nothing")) == 404);
    BOOST_TEST(status(request("GET", "/things/7/parts")) == 404);
    BOOST_TEST(status(request("GET", "/things/../x")) == 400);
}

BOOST_AUTO_TEST_CASE(actions_need_the_token_and_json) {
    Header const token{"Authorization", "Bearer secret"}, json{"Content-Type", "application/json"};
    auto const act = [](Headers headers) { return request("POST", "/act", std::move(headers)); };
    for (auto const& peer : {local, remote}) {
        BOOST_TEST(status(act({token, json}), peer) == 200);
        BOOST_TEST(status(act({token, {"Content-Type", "application/json; charset=utf-8"}}), peer) == 200);
        BOOST_TEST(status(act({json}), peer) == 401);
        BOOST_TEST(status(act({json, {"Authorization", "Bearer wrong"}}), peer) == 401);
        BOOST_TEST(status(act({token}), peer) == 400);
        BOOST_TEST(status(act({token, {"Content-Type", "text/plain"}}), peer) == 400);
        BOOST_TEST(status(act({token, json, json}), peer) == 400);
        for (auto const* origin :
             {"http://evil.example", "null", "http://localhost:8081", "https://localhost:8080"})
            BOOST_TEST(status(act({token, json, {"Origin", origin}}), peer) == 403, origin);
        BOOST_TEST(status(act({token, json, {"Origin", "http://localhost:8080"}}), peer) == 200);
        for (auto const* site : {"cross-site", "same-site"})
            BOOST_TEST(status(act({token, json, {"Sec-Fetch-Site", site}}), peer) == 403, site);
    }
    BOOST_TEST(status(act({token, json}), foreign) == 403);
}

BOOST_AUTO_TEST_CASE(a_proxy_with_a_name_may_have_an_address_with_https) {
    auto const through = [](std::string const& origin) {
        return status({"GET", "/things", {{"Host", "node1.example"}, {"Origin", origin}}, {}});
    };
    BOOST_TEST(through("https://node1.example") == 200);
    BOOST_TEST(through("https://node2.example") == 403);
}

BOOST_AUTO_TEST_CASE(a_wrong_method_gets_the_list_of_right_ones) {
    auto const decision = route_request(request("DELETE", "/things"), local, rules, table);
    auto const& refusal = std::get<Response>(decision);
    BOOST_TEST(refusal.status == 405);
    BOOST_TEST(find_headers(refusal.headers, "Allow").at(0) == "GET, HEAD, POST");
    BOOST_TEST(status(request("BREW", "/things/7")) == 405);
}

BOOST_AUTO_TEST_CASE(every_route_refuses_a_sender_who_is_not_the_owner) {
    for (auto const& each : table.routes()) {
        if (each.auth == AuthClass::acting_owner) continue;  // actions_need_the_token_and_json
        auto path = each.pattern;
        for (char& c : path) {
            if (c == '{' || c == '}') c = 'x';
        }
        auto const method = std::string(method_name(each.method));
        bool const is_open = each.auth == AuthClass::anyone;
        BOOST_TEST_CONTEXT(method << " " << path) {
            BOOST_TEST(status(request(method, path)) == 200);
            BOOST_TEST(status(request(method, path), foreign) == 403);
            BOOST_TEST(status(request(method, path), {Peer::Kind::unix_socket, {}}) == 403);
            BOOST_TEST(status(request(method, path), remote) == (is_open ? 200 : 401));
            BOOST_TEST(status(request(method, path, {{"Authorization", "Bearer secret"}}), remote) == 200);
            BOOST_TEST(status(request(method, path, {{"Authorization", "Bearer wrong!"}}), remote) ==
                       (is_open ? 200 : 401));
            BOOST_TEST(status({method, path, {{"Host", "evil.example"}}}) == 403);
            BOOST_TEST(status({method, path, {}}) == 400);
            BOOST_TEST(status(request(method, path, {{"Origin", "http://evil.example"}})) == 403);
            BOOST_TEST(status(request(method, path, {{"Origin", "null"}})) == 403);
            BOOST_TEST(status(request(method, path, {{"Sec-Fetch-Site", "cross-site"}})) == 403);
            BOOST_TEST(status(request(method, path, {{"Sec-Fetch-Site", "same-site"}})) == 403);
        }
    }
}

BOOST_AUTO_TEST_CASE(other_senders_learn_nothing_about_paths) {
    BOOST_TEST(status(request("GET", "/nothing"), remote) == 401);
    BOOST_TEST(status(request("DELETE", "/things"), remote) == 401);
    BOOST_TEST(status(request("GET", "/%zz"), remote) == 401);
    BOOST_TEST(status(request("POST", "/open"), remote) == 401);
}

BOOST_AUTO_TEST_CASE(without_a_token_no_token_is_right) {
    AccessRules open = rules;
    open.token.clear();
    for (auto const* value : {"Bearer ", "Bearer", "", "Bearer x"}) {
        BOOST_TEST(!is_owner(request("GET", "/", {{"Authorization", value}}), remote, open), value);
        BOOST_TEST(!is_owner(request("GET", "/", {{"Authorization", value}}), remote, rules), value);
    }
    BOOST_TEST(is_owner(request("GET", "/", {{"authorization", "bearer secret"}}), remote, rules));
    BOOST_TEST(!is_owner(request("GET", "/", {{"Authorization", "Bearer secret"}, {"Authorization", "x"}}),
                         remote, rules));
    // A token does not open the unix socket to another user.
    BOOST_TEST(!is_owner(request("GET", "/", {{"Authorization", "Bearer secret"}}), foreign, rules));
}

BOOST_AUTO_TEST_CASE(hosts_are_this_host_under_any_port) {
    auto const with_host = [](std::string host) { return status({"GET", "/", {{"Host", std::move(host)}}}); };
    for (auto const* host :
         {"localhost", "LOCALHOST:1", "127.0.0.1:65535", "[::1]", "[::1]:80", "node1.example:9"})
        BOOST_TEST(with_host(host) == 200, host);
    for (auto const* host :
         {"localhost.evil.example", "localhost:", "localhost:x", "localhost:1:2", "127.0.0.2", "::1", "[::1",
          "[::1]x", "[::1]x:80", "localhost@evil", "localhost:65536"})
        BOOST_TEST(with_host(host) == 403, host);
    BOOST_TEST(with_host("") == 400);
    BOOST_TEST(status(request("GET", "/", {{"Host", "localhost"}})) == 400);
}

BOOST_AUTO_TEST_CASE(the_servers_own_pages_may_send_requests) {
    BOOST_TEST(status(request("GET", "/", {{"Origin", "http://localhost:8080"}})) == 200);
    BOOST_TEST(status(request("GET", "/", {{"Origin", "http://localhost:8081"}})) == 403);
    BOOST_TEST(status(request("GET", "/", {{"Origin", "https://localhost:8080"}})) == 403);
    BOOST_TEST(status(request("GET", "/", {{"Sec-Fetch-Site", "same-origin"}})) == 200);
    BOOST_TEST(status(request("GET", "/", {{"Sec-Fetch-Site", "none"}})) == 200);
}

BOOST_AUTO_TEST_CASE(a_link_of_another_site_opens_open_routes_only) {
    auto const from = [](std::string method, std::string target, std::string mode, std::string destination) {
        return request(std::move(method), std::move(target),
                       {{"Sec-Fetch-Site", "cross-site"},
                        {"Sec-Fetch-Mode", std::move(mode)},
                        {"Sec-Fetch-Dest", std::move(destination)}});
    };
    BOOST_TEST(status(from("GET", "/open", "navigate", "document")) == 200);
    BOOST_TEST(status(from("GET", "/open", "navigate", "document"), remote) == 200);
    BOOST_TEST(status(from("GET", "/open", "navigate", "document"), foreign) == 403);
    BOOST_TEST(status(from("GET", "/open", "navigate", "iframe")) == 403);
    BOOST_TEST(status(from("GET", "/open", "no-cors", "script")) == 403);
    BOOST_TEST(status(from("POST", "/open", "navigate", "document")) == 403);
    BOOST_TEST(status(from("GET", "/things", "navigate", "document")) == 403);
    BOOST_TEST(status(from("GET", "/absent", "navigate", "document")) == 403);
    BOOST_TEST(status(from("GET", "/%2f", "navigate", "document")) == 403);
}

BOOST_AUTO_TEST_CASE(the_number_of_headers_is_limited) {
    Headers headers(rules.header_count_max - 1, {"X", "y"});
    BOOST_TEST(status(request("GET", "/", headers)) == 200);
    headers.push_back({"X", "y"});
    BOOST_TEST(status(request("GET", "/", headers)) == 431);
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused_or_answered) {
    std::mt19937 random(11);
    std::string const valid =
        "POST /things/7?x=%41 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
    int answered = 0;
    int refused = 0;
    for (int round = 0; round < 20000; ++round) {
        auto bytes = valid;
        for (auto changes = random() % 4; changes > 0; --changes)
            bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
        auto parsed = parse_request(
            std::string_view(bytes).substr(0, random() % 4 == 0 ? random() % bytes.size() : bytes.size()),
            Limits{});
        if (std::holds_alternative<Response>(parsed)) ++refused;
        if (auto* raw = std::get_if<RawRequest>(&parsed)) {
            status(*raw);
            ++answered;
        }
    }
    BOOST_TEST(answered > 1000);
    BOOST_TEST(refused > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
