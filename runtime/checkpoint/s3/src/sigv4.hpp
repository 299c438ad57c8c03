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

/// A request before encoding and signing.
struct UnsignedRequest {
    std::string method;
    std::string host;  // with the port unless it is the default of the scheme
    std::string path;  // "/bucket/key"
    Query query = {};
    Headers headers = {};
    std::string payload_sha256;
};

/// What uri_encode() does with slashes: in a path they stay, in a query they are encoded.
enum class Slashes { stay, encoded };
/// Percent-encodes by RFC 3986, with upper-case hexadecimal digits.
std::string uri_encode(std::string_view text, Slashes slashes);
/// The sorted and encoded query. The request must be sent with exactly this text, which is signed.
std::string canonical_query(Query query);

/// Signs with AWS Signature Version 4. Returns all headers that the request must carry. Pure.
Headers sign(UnsignedRequest const& request, Credentials const& credentials, std::string const& region,
             UtcTime now);

}  // namespace det::checkpoint::s3
