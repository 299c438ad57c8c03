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
    /// File for the body of a successful response; nullopt: HttpResponse::body.
    std::optional<std::filesystem::path> into = {};
};

struct HttpResponse {
    long status = 0;
    Headers headers = {};
    std::string body = {};

    bool is_success() const { return status >= 200 && status < 300; }
};

/// HTTP with libcurl, which a module loaded at run time provides. Thread-safe.
class Http {
public:
    /// Loads the first of these files that can be opened; it stays loaded until the process ends. Fails with
    /// codes::not_supported and the messages of the dynamic linker if none can be opened.
    static Result<Http> open(std::span<std::filesystem::path const> modules);

    /// One request and its response. Fails with codes::transport without a connection, or after 30 s without
    /// progress.
    Result<HttpResponse> exchange(HttpRequest const& request) const;

private:
    explicit Http(det_libcurl_module const& module) : module_(&module) {}
    det_libcurl_module const* module_;
};

}  // namespace det::checkpoint::s3
