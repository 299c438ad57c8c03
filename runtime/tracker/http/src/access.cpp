#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/tracker/http/access.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::tracker::http {
namespace {

Response bad_request(std::string message) {
    return error_response(Error{codes::bad_request, std::move(message)});
}

Response forbidden(std::string message, std::string hint = {}) {
    return error_response(Error{codes::forbidden, std::move(message), std::move(hint)});
}

/// The value of a header that may occur once; an empty text if it is absent; nullopt if it occurs twice.
std::optional<std::string> single_header(Headers const& headers, std::string_view name) {
    auto const values = find_headers(headers, name);
    if (values.size() > 1) return std::nullopt;
    return values.empty() ? std::string() : std::string(values.front());
}

/// The name in "name:port", without the port.
std::string_view host_name_of(std::string_view host) {
    auto const after_brackets = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
    auto const colon = host.find(':', after_brackets);
    if (colon == std::string_view::npos) return host;
    return parse_integer<std::uint16_t>(host.substr(colon + 1)) ? host.substr(0, colon) : std::string_view();
}

bool is_allowed_host(std::string_view host, AccessRules const& rules) {
    auto const name = to_lower(host_name_of(host));
    return name == "localhost" || name == "127.0.0.1" || name == "[::1]" ||
           std::ranges::any_of(rules.host_names,
                               [&](auto const& allowed) { return to_lower(allowed) == name; });
}

std::string allow_header(std::vector<Method> const& methods) {
    std::vector<std::string> names;
    for (auto const method : methods) names.emplace_back(method_name(method));
    return join(names, ", ");
}

bool is_of_other_site(RawRequest const& request) {
    auto const site = single_header(request.headers, "Sec-Fetch-Site");
    return !site || (!site->empty() && *site != "same-origin" && *site != "none");
}

/// Whether the request only opens a page in a tab or window of its own, as by a click on a link.
bool opens_page(RawRequest const& request) {
    return request.method == "GET" && single_header(request.headers, "Sec-Fetch-Mode") == "navigate" &&
           single_header(request.headers, "Sec-Fetch-Dest") == "document";
}

Response refuse_other_site() {
    return forbidden("another web site sent this request", "type the address into the browser");
}

Response ask_for_token() {
    auto response = error_response(Error{codes::unauthorized, "this request needs the server's token",
                                         "send it as 'Authorization: Bearer TOKEN'"});
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return response;
}

Response refuse_stranger(Peer const& peer) {
    if (peer.kind == Peer::Kind::unix_socket) return forbidden("this server serves the user who runs it");
    return ask_for_token();
}

/// The page of a proxy has the address https://NAME, and the proxy speaks HTTP with this server.
bool is_own_origin(std::string_view origin, std::string_view host, AccessRules const& rules) {
    auto const sender = to_lower(origin);
    if (sender == "http://" + to_lower(host)) return true;
    auto const name = to_lower(host_name_of(host));
    bool const is_of_proxy =
        std::ranges::any_of(rules.host_names, [&](auto const& allowed) { return to_lower(allowed) == name; });
    return is_of_proxy && sender == "https://" + to_lower(host);
}

bool has_token(Headers const& headers, AccessRules const& rules) {
    auto const header = single_header(headers, "Authorization");
    constexpr std::string_view scheme = "bearer ";
    if (!header || rules.token.empty() ||
        to_lower(std::string_view(*header).substr(0, scheme.size())) != scheme)
        return false;
    return equal_in_constant_time(std::string_view(*header).substr(scheme.size()), rules.token);
}

/// What AuthClass::acting_owner needs besides the owner.
std::optional<Response> refuse_action(RawRequest const& request, AccessRules const& rules) {
    if (!has_token(request.headers, rules)) return ask_for_token();
    auto const type = single_header(request.headers, "Content-Type");
    if (!type || trim(std::string_view(*type).substr(0, type->find(';'))) != "application/json")
        return bad_request("the body of this request must be of the type application/json");
    return std::nullopt;
}

}  // namespace

std::optional<Response> refuse_foreign_site(RawRequest const& request, AccessRules const& rules) {
    if (request.headers.size() > rules.header_count_max) {
        return error_response(
            431, Error{codes::bad_request,
                       fmt::format("the request has more than {} headers", rules.header_count_max)});
    }
    auto const host = single_header(request.headers, "Host");
    if (!host || host->empty()) return bad_request("the request needs one Host header");
    if (!is_allowed_host(*host, rules)) {
        return forbidden(fmt::format("this server does not have the name '{}'", escape_control(*host)),
                         "use the address http://localhost:PORT");
    }
    auto const origin = single_header(request.headers, "Origin");
    if (!origin) return bad_request("the request has two Origin headers");
    if (!origin->empty() && !is_own_origin(*origin, *host, rules)) return refuse_other_site();
    if (is_of_other_site(request) && !opens_page(request)) return refuse_other_site();
    return std::nullopt;
}

bool is_owner(RawRequest const& request, Peer const& peer, AccessRules const& rules) {
    if (peer.kind == Peer::Kind::unix_socket) return peer.uid == rules.owner;
    return has_token(request.headers, rules);
}

std::variant<Response, RoutedRequest> route_request(RawRequest request, Peer const& peer,
                                                    AccessRules const& rules, RouteTable const& routes) {
    if (auto refusal = refuse_foreign_site(request, rules)) return *std::move(refusal);
    // Refuses a process of another user on the unix socket, whatever the route.
    bool const is_sent_by_owner = is_owner(request, peer, rules);
    if (!is_sent_by_owner && peer.kind == Peer::Kind::unix_socket) return refuse_stranger(peer);
    auto target = parse_target(request.target);
    // A link on another site may open the page, which holds no data.
    bool const is_link = is_of_other_site(request);
    if (is_link && !target) return refuse_other_site();
    if (!target) return is_sent_by_owner ? error_response(target.error()) : refuse_stranger(peer);
    auto const method = parse_method(request.method);
    auto match = routes.find(method, target->segments);
    bool const is_open = match.route && match.route->auth == AuthClass::anyone;
    if (is_link && !is_open) return refuse_other_site();
    if (!is_open && !is_sent_by_owner) return refuse_stranger(peer);
    if (!match.route && match.allowed.empty()) {
        return error_response(404, Error{codes::no_such_route, "there is nothing at this path",
                                         "see the list of routes in API.md"});
    }
    if (!match.route) {
        auto response = error_response(
            405, Error{codes::bad_request,
                       fmt::format("this path has no method '{}'", escape_control(request.method))});
        response.headers.push_back({"Allow", allow_header(match.allowed)});
        return response;
    }
    if (match.route->auth == AuthClass::acting_owner) {
        if (auto refusal = refuse_action(request, rules)) return *std::move(refusal);
    }
    return RoutedRequest{match.route, Request{method, *std::move(target), std::move(match.path_values),
                                              std::move(request.headers), std::move(request.body)}};
}

void add_standard_headers(Response& response) {
    static Headers const standard{
        {"Cache-Control", "no-store"},
        {"Content-Security-Policy",
         "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
    };
    for (auto const& header : standard) {
        if (find_headers(response.headers, header.name).empty()) response.headers.push_back(header);
    }
}

}  // namespace det::tracker::http
