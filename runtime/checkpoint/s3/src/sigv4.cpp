#include "sigv4.hpp"

#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::checkpoint::s3 {
namespace {

std::string sha256(std::string_view text) {
    Sha256 sum;
    sum.update(text);
    return sum.finish();
}

std::string from_hex(std::string_view digits) {
    auto const value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1])));
    return bytes;
}

std::string hmac(std::string_view key, std::string_view text) { return from_hex(hmac_sha256(key, text)); }

/// Formats a time for signatures, for example "20130524T000000Z".
std::string format_time(UtcTime time) {
    auto text = format_utc(time);
    text.resize(text.find('.'));
    std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
    return text + "Z";
}

bool is_unreserved(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string uri_encode(std::string_view text, Slashes slashes) {
    std::string encoded;
    for (char const c : text) {
        if (is_unreserved(c) || (c == '/' && slashes == Slashes::stay))
            encoded.push_back(c);
        else
            encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return encoded;
}

std::string canonical_query(Query query) {
    for (auto& [name, value] : query) {
        name = uri_encode(name, Slashes::encoded);
        value = uri_encode(value, Slashes::encoded);
    }
    std::ranges::sort(query);
    std::string text;
    for (auto const& [name, value] : query)
        text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
    return text;
}

Headers sign(UnsignedRequest const& request, Credentials const& credentials, std::string const& region,
             UtcTime now) {
    auto const time = format_time(now);
    auto const day = time.substr(0, 8);
    auto headers = request.headers;
    headers["host"] = request.host;
    headers["x-amz-date"] = time;
    headers["x-amz-content-sha256"] = request.payload_sha256;
    if (!credentials.session_token.empty()) headers["x-amz-security-token"] = credentials.session_token;

    std::string lines, names;
    for (auto const& [name, value] : headers) {
        lines += fmt::format("{}:{}\n", name, value);
        names += fmt::format("{}{}", names.empty() ? "" : ";", name);
    }
    auto const canonical =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, uri_encode(request.path, Slashes::stay),
                    canonical_query(request.query), lines, names, request.payload_sha256);
    auto const scope = fmt::format("{}/{}/s3/aws4_request", day, region);
    auto const to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, sha256(canonical));
    auto const key =
        hmac(hmac(hmac(hmac("AWS4" + credentials.secret_key, day), region), "s3"), "aws4_request");
    headers["authorization"] = fmt::format("AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                                           credentials.access_key, scope, names, hmac_sha256(key, to_sign));
    return headers;
}

}  // namespace det::checkpoint::s3
