#include <det/foundation/text.hpp>
#include <det/tracker/http/message.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace det::tracker::http {
namespace {

struct MethodName {
    Method method;
    std::string_view name;
};

constexpr std::array method_names{MethodName{Method::get, "GET"}, MethodName{Method::head, "HEAD"},
                                  MethodName{Method::post, "POST"}, MethodName{Method::put, "PUT"},
                                  MethodName{Method::remove, "DELETE"}};

}  // namespace

Method parse_method(std::string_view name) {
    auto const found = std::ranges::find(method_names, name, &MethodName::name);
    return found == method_names.end() ? Method::other : found->method;
}

std::string_view method_name(Method method) {
    auto const found = std::ranges::find(method_names, method, &MethodName::method);
    return found == method_names.end() ? "?" : found->name;
}

std::vector<std::string_view> find_headers(Headers const& headers, std::string_view name) {
    auto const wanted = to_lower(name);
    std::vector<std::string_view> values;
    for (auto const& header : headers) {
        if (to_lower(header.name) == wanted) values.emplace_back(header.value);
    }
    return values;
}

int status_of(Error const& error) {
    if (error.code == codes::bad_request || error.code == codes::bad_value) return 400;
    if (error.code == codes::unauthorized) return 401;
    if (error.code == codes::forbidden) return 403;
    if (error.code.exit == ExitCode::absent) return 404;
    if (error.code.exit == ExitCode::slurm_unreachable) return 503;
    if (error.code.exit == ExitCode::timed_out) return 504;
    return 500;
}

Response error_response(int status, Error const& error) {
    auto fields = nlohmann::json::object({{"code", error.code.name}, {"message", error.message}});
    if (!error.hint.empty()) fields["hint"] = error.hint;
    if (!error.notes.empty()) fields["notes"] = error.notes;
    // File names and output of other programs may be invalid UTF-8.
    auto body = nlohmann::json::object({{"error", std::move(fields)}})
                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return {status, std::move(body) + "\n"};
}

Response error_response(Error const& error) { return error_response(status_of(error), error); }

Error parse_error_response(Response const& response) {
    Error const foreign{codes::transport, fmt::format("the server answered with status {} and no description",
                                                      response.status)};
    auto const json = nlohmann::json::parse(response.body, nullptr, false);
    if (!json.is_object() || !json.contains("error")) return foreign;
    auto const& fields = json["error"];
    auto const text = [&](char const* name) {
        return fields.is_object() && fields.contains(name) && fields[name].is_string()
                   ? fields[name].get<std::string>()
                   : std::string();
    };
    if (text("message").empty()) return foreign;
    Error error{find_error_code(text("code")).value_or(codes::transport), text("message"), text("hint")};
    if (fields.contains("notes") && fields["notes"].is_array()) {
        for (auto const& note : fields["notes"]) {
            if (note.is_string()) error.notes.push_back(note.get<std::string>());
        }
    }
    return error;
}

}  // namespace det::tracker::http
