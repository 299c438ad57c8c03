#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <span>

#include "../libcurl/abi.h"
#include "sigv4.hpp"

namespace det::checkpoint::s3 {

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

/// HTTP by libcurl, which lies behind a module that is opened here. Thread-safe.
class Http {
public:
    /// The first of these files that can be opened: it stays open for as long as the process lives.
    /// codes::not_supported where none can, with what the loader says.
    static Result<Http> open(std::span<std::filesystem::path const> modules);

    /// One exchange. codes::transport where there was none, or it stood still for half a minute.
    Result<HttpResponse> exchange(HttpRequest const& request) const;

private:
    explicit Http(det_libcurl_module const& module) : module_(&module) {}
    det_libcurl_module const* module_;
};

}  // namespace det::checkpoint::s3
