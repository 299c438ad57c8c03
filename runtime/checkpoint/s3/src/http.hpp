#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>

#include "sigv4.hpp"

namespace det::store_s3 {

struct HttpRequest {
    std::string method;
    std::string url;
    Headers headers = {};
    std::string_view body = {};
    /// Where the body of a successful answer goes; nothing: into the response.
    std::optional<std::filesystem::path> into = {};
};

struct HttpResponse {
    long status = 0;
    Headers headers = {};
    std::string body = {};

    bool is_success() const { return status >= 200 && status < 300; }
};

/// One exchange. codes::transport where there was none, or it stood still for half a minute.
Result<HttpResponse> exchange(HttpRequest const& request);

}  // namespace det::store_s3
