// The entry point of det_libcurl.so: one HTTP exchange, with a C interface.
#include <curl/curl.h>
#include <memory>
#include <string_view>

#include "abi.h"

namespace {

using Request = det_libcurl_request;
using Sink = det_libcurl_sink;

struct Exchange {
    Sink const& sink;
    CURL* curl;
    std::string_view unsent;
};

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* context) {
    auto const& sink = static_cast<Exchange*>(context)->sink;
    sink.header(sink.context, data, size * count);
    return size * count;
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* context) {
    auto const& exchange = *static_cast<Exchange*>(context);
    long status = 0;
    curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
    return exchange.sink.body(exchange.sink.context, status, data, size * count) != 0 ? size * count : 0;
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

std::unique_ptr<curl_slist, FreeCurl> header_list(Request const& request) {
    // An empty header disables curl's "Expect: 100-continue" and its default Content-Type.
    curl_slist* list = curl_slist_append(nullptr, "Expect:");
    list = curl_slist_append(list, "Content-Type:");
    for (std::size_t i = 0; i < request.header_count; ++i) list = curl_slist_append(list, request.headers[i]);
    return std::unique_ptr<curl_slist, FreeCurl>(list);
}

void set_up(Exchange& exchange, Request const& request, curl_slist* headers) {
    auto* const curl = exchange.curl;
    std::string_view const method = request.method;
    curl_easy_setopt(curl, CURLOPT_URL, request.url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, request.connect_limit_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request.stall_limit_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, request.stall_bytes_per_s);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
    if (method == "PUT" || method == "POST") {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body_size));
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
}

long exchange(Request const* request, Sink const* sink, char const** why) {
    static bool const is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    std::unique_ptr<CURL, FreeCurl> const curl(is_ready ? curl_easy_init() : nullptr);
    if (!curl) {
        *why = "libcurl could not be started";
        return 0;
    }
    Exchange exchange{*sink, curl.get(), {request->body, request->body_size}};
    auto const headers = header_list(*request);
    set_up(exchange, *request, headers.get());
    auto const code = curl_easy_perform(curl.get());
    if (code != CURLE_OK) {
        *why = curl_easy_strerror(code);
        return 0;
    }
    long status = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
}

constexpr det_libcurl_module module{DET_LIBCURL_ABI_VERSION, exchange};

}  // namespace

extern "C" {
__attribute__((visibility("default"))) det_libcurl_module const* det_libcurl_module_entry(void);
}

det_libcurl_module const* det_libcurl_module_entry(void) { return &module; }
