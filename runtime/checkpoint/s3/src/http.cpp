#include "http.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>

namespace det::store_s3 {
namespace {

constexpr long connect_limit_s = 10;
constexpr long stall_limit_s = 30;
constexpr long stall_bytes_per_s = 1024;

struct Exchange {
    HttpRequest const& request;
    CURL* curl;
    HttpResponse response = {};
    UniqueFd file = {};
    std::string_view unsent = {};
    std::optional<Error> error = {};
};

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* context) {
    std::string_view const line(data, size * count);
    auto const colon = line.find(':');
    if (colon != std::string_view::npos) {
        static_cast<Exchange*>(context)->response.headers[to_lower(line.substr(0, colon))] =
            std::string(trim(line.substr(colon + 1)));
    }
    return size * count;
}

/// Errors come as text even where a file was asked for.
std::size_t take_body(char* data, std::size_t size, std::size_t count, void* context) {
    auto& exchange = *static_cast<Exchange*>(context);
    std::string_view const bytes(data, size * count);
    long status = 0;
    curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
    if (!exchange.file || status != 200) {
        exchange.response.body += bytes;
        return bytes.size();
    }
    auto const written = write_all(exchange.file.get(), bytes, exchange.request.into->string());
    if (written) return bytes.size();
    exchange.error = written.error();
    return 0;
}

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* context) {
    auto& unsent = static_cast<Exchange*>(context)->unsent;
    auto const part = unsent.substr(0, size * count);
    part.copy(into, part.size());
    unsent.remove_prefix(part.size());
    return part.size();
}

struct FreeCurl {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::unique_ptr<curl_slist, FreeCurl> header_list(Headers const& headers) {
    // An empty one keeps curl from asking before it sends, or from naming a form.
    curl_slist* list = curl_slist_append(nullptr, "Expect:");
    list = curl_slist_append(list, "Content-Type:");
    for (auto const& [name, value] : headers)
        list = curl_slist_append(list, fmt::format("{}: {}", name, value).c_str());
    return std::unique_ptr<curl_slist, FreeCurl>(list);
}

void set_up(Exchange& exchange, curl_slist* headers) {
    auto* const curl = exchange.curl;
    auto const& request = exchange.request;
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_limit_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stall_limit_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, stall_bytes_per_s);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
    if (request.method == "PUT" || request.method == "POST") {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

}  // namespace

Result<HttpResponse> exchange(HttpRequest const& request) {
    static bool const is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    std::unique_ptr<CURL, FreeCurl> const curl(is_ready ? curl_easy_init() : nullptr);
    if (!curl) return Error{codes::transport, "libcurl could not be started"};
    Exchange exchange{request, curl.get()};
    exchange.unsent = request.body;
    if (request.into) {
        exchange.file =
            UniqueFd(::open(request.into->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!exchange.file) return os_error(fmt::format("write '{}'", request.into->string()), errno);
    }
    auto const headers = header_list(request.headers);
    set_up(exchange, headers.get());
    auto const code = curl_easy_perform(curl.get());
    if (exchange.error) return *exchange.error;
    if (code != CURLE_OK)
        return Error{codes::transport,
                     fmt::format("{} {}: {}", request.method, request.url, curl_easy_strerror(code))};
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &exchange.response.status);
    return std::move(exchange.response);
}

}  // namespace det::store_s3
