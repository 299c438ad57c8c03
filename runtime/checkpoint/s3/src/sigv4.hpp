#pragma once
#include <det/checkpoint/s3/s3_store.hpp>
#include <det/foundation/clock.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace det::checkpoint::s3 {

using Headers = std::map<std::string, std::string>;  // lower-case names
using Query = std::vector<std::pair<std::string, std::string>>;

/// A request as it will go out, with nothing encoded yet.
struct UnsignedRequest {
    std::string method;
    std::string host;  // with the port, where it is not the scheme's
    std::string path;  // "/bucket/key"
    Query query = {};
    Headers headers = {};
    std::string payload_sha256;
};

/// RFC 3986, upper-case digits; slashes stay where they separate parts of a path.
enum class Slashes { stay, encoded };
std::string uri_encode(std::string_view text, Slashes slashes);
/// Sorted and encoded: what is signed is what has to be sent.
std::string canonical_query(Query query);

/// Signature Version 4: all headers that the request has to carry. Pure.
Headers sign(UnsignedRequest const& request, Credentials const& credentials, std::string const& region,
             UtcTime now);

}  // namespace det::checkpoint::s3
