#pragma once
#include <det/foundation/result.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det::tracker::http {

enum class Method { get, head, post, put, remove, other };

/// Method::other for a method that no route can have.
Method parse_method(std::string_view name);
std::string_view method_name(Method method);

struct Header {
    std::string name;
    std::string value;
    friend bool operator==(Header const&, Header const&) = default;
};
using Headers = std::vector<Header>;

/// The values of all headers of this name, in order. Names are compared without regard to case.
std::vector<std::string_view> find_headers(Headers const& headers, std::string_view name);

/// A request as it was sent: nothing of it is decoded or checked yet.
struct RawRequest {
    std::string method;
    std::string target;  // "/v1/experiments?state=active"
    Headers headers = {};
    std::string body = {};
};

/// The parameters after the '?', decoded, by name.
using Query = std::map<std::string, std::string, std::less<>>;

/// The path and the query of a request, each decoded exactly once.
struct Target {
    std::vector<std::string> segments;  // of "/v1/experiments/7": v1, experiments, 7; none for "/"
    Query query = {};
    friend bool operator==(Target const&, Target const&) = default;
};

inline constexpr std::size_t target_size_limit_bytes = 4096;
inline constexpr std::size_t query_parameters_max = 32;

/// Splits and decodes the target of a request. Fails with codes::bad_request for a target that does not
/// begin with '/', has a fragment, an empty segment, a segment '.' or '..', an invalid escape sequence, an
/// encoded '/', invalid UTF-8, a control byte that is not an escape sequence in the value of a parameter, a
/// parameter twice or without a name, or exceeds a limit. Pure.
Result<Target> parse_target(std::string_view target);

/// Encodes all bytes except letters, digits and "-._~" as %XX: for a segment of a path, or a name or value of
/// a query.
std::string percent_encode(std::string_view text);

/// A request for which a route was found and that may use it.
struct Request {
    Method method = Method::get;
    Target target = {};
    std::map<std::string, std::string, std::less<>> path_values = {};  // by the names in the route's pattern
    Headers headers = {};
    std::string body = {};
};

struct Response {
    int status = 200;
    std::string body = {};
    std::string content_type = "application/json";
    Headers headers = {};
};

/// The status for an error: 400 for bad_request and bad_value, 401 for unauthorized, 403 for forbidden, 404
/// if a named thing is absent, 503 if Slurm does not answer, 504 for timed_out, 500 for all others.
int status_of(Error const& error);

/// Renders {"error": {"code": "no-such-trial", "message": "...", "hint": "...", "notes": ["..."]}}; without
/// `hint` and `notes` if the error has none. The second form takes the status from status_of().
Response error_response(int status, Error const& error);
Response error_response(Error const& error);

/// The error that error_response() rendered. An error with codes::transport if the body is anything else, and
/// for a code that this program does not know.
Error parse_error_response(Response const& response);

}  // namespace det::tracker::http
