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
    /// The file for the body of a response with status 200. It is created, or emptied, before the request.
    /// nullopt: the body is stored in HttpResponse::body, as is that of any other status.
    std::optional<std::filesystem::path> into = {};
};

struct HttpResponse {
    long status = 0;
    Headers headers = {};
    std::string body = {};

    bool is_success() const { return status >= 200 && status < 300; }
};

/// An HTTP client that uses libcurl by way of a module, det_libcurl.so, loaded at run time. Thread-safe.
class Http {
public:
    /// Loads the first of these files that can be used; it stays loaded until the process ends. If no file
    /// can be used, fails with codes::not_supported and the reason for each file.
    static Result<Http> open(std::span<std::filesystem::path const> modules);

    /// Sends one request and returns its response. Fails with codes::transport if no whole response arrives,
    /// for example because there is no connection within 10 s or the transfer stalls for 30 s; with an error
    /// of the file system if `into` can't be written.
    Result<HttpResponse> exchange(HttpRequest const& request) const;

private:
    explicit Http(det_libcurl_module const& module) : module_(&module) {}
    det_libcurl_module const* module_;
};

}  // namespace det::checkpoint::s3
