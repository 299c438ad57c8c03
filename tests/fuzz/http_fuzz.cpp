// Fuzzes the HTTP server's decision about a request: arbitrary bytes as a request, parsed as from a
// connection.
#include <det/tracker/http/access.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "request_parser.hpp"

namespace {

using namespace det;
using namespace det::tracker::http;

void require(bool holds, char const* invariant) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", invariant);
    std::abort();
}

RouteTable make_table() {
    auto const handler = [](Request const&) { return Response{}; };
    return RouteTable({{Method::get, "/open", AuthClass::anyone, handler},
                       {Method::get, "/things/{id}", AuthClass::owner, handler},
                       {Method::post, "/things", AuthClass::owner, handler}});
}

void check_target(std::string_view text) {
    auto const target = parse_target(text);
    if (!target) return;
    std::string rendered;
    for (auto const& segment : target->segments) rendered += "/" + percent_encode(segment);
    if (rendered.empty()) rendered = "/";
    char separator = '?';
    for (auto const& [name, value] : target->query) {
        rendered += separator + percent_encode(name) + "=" + percent_encode(value);
        separator = '&';
    }
    auto const again = parse_target(rendered);
    if (!again) return require(rendered.size() > target_size_limit_bytes, "a rendered target can be parsed");
    require(*again == *target, "parsing the rendered target gives the same target");
}

void check_decisions(RawRequest const& request) {
    static auto const table = make_table();
    AccessRules const rules{1000, "secret"};
    auto const of_stranger = route_request(request, {Peer::Kind::tcp, {}}, rules, table);
    if (auto const* routed = std::get_if<RoutedRequest>(&of_stranger)) {
        require(routed->route->auth == AuthClass::anyone || is_owner(request, {Peer::Kind::tcp, {}}, rules),
                "a stranger reaches open routes only");
    }
    auto const of_foreigner = route_request(request, {Peer::Kind::unix_socket, 1001}, rules, table);
    require(std::holds_alternative<Response>(of_foreigner), "another user is refused");
    auto const of_owner = route_request(request, {Peer::Kind::unix_socket, 1000}, rules, table);
    if (auto const* refusal = std::get_if<Response>(&of_owner)) {
        require(refusal->status >= 400, "a refusal is an error");
        require(parse_error_response(*refusal).code.name != codes::transport.name, "a refusal is described");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check_target(text);
    Limits limits;
    limits.header_bytes = 512;
    limits.body_bytes = 64;
    auto const parsed = parse_request(text, limits);
    if (auto const* request = std::get_if<RawRequest>(&parsed)) {
        require(request->body.size() <= limits.body_bytes, "the body keeps its limit");
        check_target(request->target);
        check_decisions(*request);
    }
    return 0;
}
