#pragma once
#include <det/protocol/json.hpp>
#include <det/tracker/http/response_cache.hpp>

#include <atomic>
#include <vector>

#include "caching_slurm_client.hpp"
#include "confirmations.hpp"
#include "service_thread.hpp"
#include "tracker/api/api.hpp"
#include "waiters.hpp"

namespace det::tracker::api {

/// The same sources with another client of Slurm and another number of changes.
inline Sources with_slurm(Sources const& from, slurm::SlurmClient& slurm,
                          std::function<std::int64_t()> change_number) {
    return {from.history,
            from.root,
            from.environment,
            from.clock,
            slurm,
            from.cache,
            std::move(change_number),
            from.describe_tracker,
            from.check_interval,
            from.answer_age_max,
            from.slurm_age_max,
            from.allows_actions,
            from.foreign_root};
}

/// The objects that the handlers of all routes share.
class Api::State {
public:
    explicit State(Sources const& from)
        : acting_slurm(from.slurm),
          slurm(from.slurm, from.clock, from.slurm_age_max),
          sources(with_slurm(from, slurm,
                             [this, recorded = from.change_number] {
                                 return (recorded ? recorded() : 0) + actions_done.load();
                             })),
          answers(sources.change_number, sources.answer_age_max),
          waiters(sources.check_interval) {}
    /// After an action all answers are made anew, and viewers that wait for changes learn of it.
    void on_action_done() {
        slurm.forget();
        ++actions_done;
        waiters.wake();
    }

    slurm::SlurmClient& acting_slurm;
    CachingSlurmClient slurm;
    std::atomic<std::int64_t> actions_done = 0;
    Sources sources;
    http::ResponseCache answers;
    Waiters waiters;
    Confirmations confirmations;
    ServiceThread services;
};

using http::Request;
using http::Response;
using Routes = std::vector<http::Route>;

/// A response with this JSON.
Response json_response(Json const& json);
Response json_response(Result<Json> const& result);

/// Makes a handler of a function that returns JSON or an error.
template <class Answer>
http::Handler answer_with(Answer answer) {
    return [answer = std::move(answer)](Request const& request) -> Response {
        return json_response(Result<Json>(answer(request)));
    };
}

template <class Answer>
http::Route get_route(std::string pattern, Answer answer) {
    return {http::Method::get, std::move(pattern), http::AuthClass::owner, answer_with(std::move(answer))};
}

/// A route whose answer needs Slurm or a storage of checkpoints.
template <class Answer>
http::Route get_service_route(std::string pattern, ServiceThread& services, Answer answer) {
    http::DeferredHandler handler = [answer = std::move(answer), &services](
                                        Request const& request, http::Responder const& responder) {
        services.add(responder, [answer, request] { return json_response(Result<Json>(answer(request))); });
    };
    return {http::Method::get, std::move(pattern), http::AuthClass::owner, std::move(handler)};
}

/// Fails with codes::bad_request if the query has any other parameter.
Status reject_unknown_parameters(Request const& request, std::vector<std::string_view> const& names);
Result<std::optional<double>> number_parameter(Request const& request, std::string_view name);
Result<std::optional<std::uint64_t>> integer_parameter(Request const& request, std::string_view name);
/// "true" or "false"; false if it is absent.
Result<bool> flag_parameter(Request const& request, std::string_view name);
std::optional<std::string> text_parameter(Request const& request, std::string_view name);
Result<std::string> require_parameter(Request const& request, std::string_view name);

/// The values in the path. codes::bad_request if they are no ids.
Result<ExperimentId> experiment_of(Request const& request);
Result<TrialId> trial_of(Request const& request);
Result<std::uint32_t> number_in_path(Request const& request, std::string_view name);

}  // namespace det::tracker::api
