#pragma once
#include <det/tracker/http/routes.hpp>

#include <optional>
#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace det::tracker::http {

/// The other end of a connection.
struct Peer {
    enum class Kind { unix_socket, tcp };
    Kind kind = Kind::unix_socket;
    std::optional<uid_t> uid = {};  // of the process at the other end of a unix socket
};

struct AccessRules {
    uid_t owner = 0;
    std::string token = {};  // for TCP and for AuthClass::acting_owner; empty: every token is refused
    /// Names in a Host header beside localhost, 127.0.0.1 and [::1], each with any port.
    std::vector<std::string> host_names = {};
    std::size_t header_count_max = 64;
};

/// Checks that a request, whatever its route, has no more headers than allowed and one valid Host, and that
/// no other web site made a browser send it (Origin, Sec-Fetch-Site), except that a link of another site may
/// open a page, which route_request() allows for open routes only. Pure.
/// \return the refusal, or nullopt
std::optional<Response> refuse_foreign_site(RawRequest const& request, AccessRules const& rules);

/// Whether the sender is the owner: over a unix socket by the uid of the peer, over TCP by the token in
/// "Authorization: Bearer TOKEN". Pure.
bool is_owner(RawRequest const& request, Peer const& peer, AccessRules const& rules);

struct RoutedRequest {
    Route const* route;
    Request request;
};

/// The whole decision about a request: the response that refuses it, or the route that answers it. Only the
/// owner learns which paths exist: other senders get 401 or 403 for every path without a route for anyone.
/// Pure.
std::variant<Response, RoutedRequest> route_request(RawRequest request, Peer const& peer,
                                                    AccessRules const& rules, RouteTable const& routes);

/// Adds the headers that every response has, unless the response sets them itself.
void add_standard_headers(Response& response);

}  // namespace det::tracker::http
