// Waits until something was recorded.
#include "changes.hpp"

namespace det::tracker::api {
namespace {

Response change_response(std::int64_t number) { return json_response(Json{{"number", number}}); }

void answer_changes(Request const& request, http::Responder const& responder, Sources const& sources,
                    Waiters& waiters) {
    auto const known = reject_unknown_parameters(request, {"after", "wait"});
    if (!known) return responder.respond(http::error_response(known.error()));
    auto const after = integer_parameter(request, "after");
    if (!after) return responder.respond(http::error_response(after.error()));
    auto const wait = wait_parameter(request);
    if (!wait) return responder.respond(http::error_response(wait.error()));
    auto const number_now = [&sources] { return sources.change_number ? sources.change_number() : 0; };
    auto const number = number_now();
    bool const has_changed = !*after || static_cast<std::uint64_t>(number) != **after;
    if (has_changed || wait->count() == 0) return responder.respond(change_response(number));
    responder.respond_at(std::chrono::steady_clock::now() + *wait, change_response(number));
    waiters.add(responder, [number, number_now]() -> std::optional<Response> {
        auto const later = number_now();
        if (later == number) return std::nullopt;
        return change_response(later);
    });
}

}  // namespace

Result<std::chrono::milliseconds> wait_parameter(Request const& request) {
    DET_TRY_ASSIGN(auto const wait, number_parameter(request, "wait"));
    auto const seconds = wait.value_or(0);
    if (seconds < 0 || seconds > static_cast<double>(wait_max.count()))
        return Error{codes::bad_request, "the parameter 'wait' is not between 0 and 60 seconds"};
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void add_change_routes(Routes& routes, Sources& sources, Waiters& waiters) {
    routes.push_back({http::Method::get, "/v1/changes", http::AuthClass::owner,
                      [&sources, &waiters](Request const& request, http::Responder const& responder) {
                          answer_changes(request, responder, sources, waiters);
                      }});
}

}  // namespace det::tracker::api
