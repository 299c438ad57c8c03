#include "http.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_module.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>

namespace det::checkpoint::s3 {
namespace {

constexpr long connect_limit_s = 10;
constexpr long stall_limit_s = 30;
constexpr long stall_bytes_per_s = 1024;

/// The response to a request while it is received.
struct ResponseReceiver {
    HttpRequest const& request;
    HttpResponse response = {};
    UniqueFd file = {};
    std::optional<Error> error = {};
};

void take_header(void* context, char const* data, std::size_t size) {
    std::string_view const line(data, size);
    auto const colon = line.find(':');
    if (colon == std::string_view::npos) return;
    auto& headers = static_cast<ResponseReceiver*>(context)->response.headers;
    headers[to_lower(line.substr(0, colon))] = std::string(trim(line.substr(colon + 1)));
}

/// Stores a piece of the body. The body of an error response is kept as text even if the request names a
/// file.
int take_body(void* context, long status, char const* data, std::size_t size) {
    auto& receiver = *static_cast<ResponseReceiver*>(context);
    std::string_view const bytes(data, size);
    if (!receiver.file || status != 200) {
        receiver.response.body += bytes;
        return 1;
    }
    auto const written = write_all(receiver.file.get(), bytes, receiver.request.into->string());
    if (!written) receiver.error = written.error();
    return written ? 1 : 0;
}

/// Opens the module, or returns the reason why it cannot be used.
Result<det_libcurl_module const*, std::string> open_module(std::filesystem::path const& file) {
    DET_TRY_ASSIGN(auto* const function, det::open_module(file, DET_LIBCURL_ENTRY));
    auto const entry = reinterpret_cast<det_libcurl_entry>(function);
    auto const* const module = entry();
    if (module->abi_version == DET_LIBCURL_ABI_VERSION) return module;
    return fmt::format("{}: belongs to another version of this program", file.string());
}

}  // namespace

Result<Http> Http::open(std::span<std::filesystem::path const> modules) {
    Error error{codes::not_supported, "S3 can't be reached from here: libcurl, or det_libcurl.so, is missing",
                "install libcurl (Debian: libcurl4) on this machine, or in the container's image"};
    for (auto const& file : modules) {
        auto const module = open_module(file);
        if (module) return Http(**module);
        error.notes.push_back(module.error());
    }
    return error;
}

Result<HttpResponse> Http::exchange(HttpRequest const& request) const {
    ResponseReceiver receiver{request};
    if (request.into) {
        receiver.file =
            UniqueFd(::open(request.into->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!receiver.file) return os_error(fmt::format("write '{}'", request.into->string()), errno);
    }
    std::vector<std::string> lines;
    for (auto const& [name, value] : request.headers) lines.push_back(fmt::format("{}: {}", name, value));
    std::vector<char const*> headers;
    for (auto const& line : lines) headers.push_back(line.c_str());
    det_libcurl_request const c_request{request.method.c_str(), request.url.c_str(), headers.data(),
                                        headers.size(),         request.body.data(), request.body.size(),
                                        connect_limit_s,        stall_limit_s,       stall_bytes_per_s};
    det_libcurl_sink const sink{&receiver, take_header, take_body};
    char const* why = "";
    receiver.response.status = module_->exchange(&c_request, &sink, &why);
    if (receiver.error) return *receiver.error;
    if (receiver.response.status == 0)
        return Error{codes::transport, fmt::format("{} {}: {}", request.method, request.url, why)};
    return std::move(receiver.response);
}

}  // namespace det::checkpoint::s3
