#include "experiment/export_page.hpp"

#include <det/protocol/json.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>
#include <det/tracker/web/snapshot.hpp>

#include <fmt/format.h>
#include <functional>

#include "tracker/api/local_api.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

constexpr std::size_t trials_max = 100;
constexpr std::size_t metrics_max = 60;
constexpr int width_px = 800;  // pixels of a curve

/// The answers of the tracker that the page asks for, by the addresses under which the page looks for them.
class Answers {
public:
    using Get = std::function<Result<std::string>(std::string const& target)>;
    explicit Answers(Get get) : get_(std::move(get)) {}

    /// \param parameters that the page does not name, because the file has one answer for all of their values
    Result<Json> add(std::string const& address, std::string const& parameters = {}) {
        DET_TRY_ASSIGN(auto const text, get_("/v1/" + address + parameters));
        auto json = try_parse_json(text);
        if (json.is_discarded()) return Error{codes::transport, "the tracker's answer is not JSON"};
        answers_[address] = json;
        return Result<Json>(std::move(json));
    }
    /// Adds the answer if the tracker gives it. Without it the page says that it is missing.
    void add_if_there(std::string const& address) { (void)add(address); }
    Json take() && { return std::move(answers_); }

private:
    Get get_;
    Json answers_ = Json::object();
};

Status add_curves(Answers& answers, std::string const& experiment) {
    DET_TRY_ASSIGN(auto const names, answers.add(experiment + "/metrics"));
    std::size_t count = 0;
    for (auto const& name : names.at("metrics")) {
        if (++count > metrics_max) break;
        for (auto const* axis : {"steps", "time"}) {
            auto const address =
                fmt::format("{}/series?group={}&metric={}&axis={}", experiment,
                            tracker::http::percent_encode(name.at("group").get<std::string>()),
                            tracker::http::percent_encode(name.at("metric").get<std::string>()), axis);
            DET_TRY(answers.add(address, fmt::format("&width={}", width_px)));
        }
    }
    return Ok{};
}

Status add_trials(Answers& answers, std::string const& experiment) {
    DET_TRY_ASSIGN(auto const trials, answers.add(experiment + "/trials"));
    auto const& rows = trials.at("answer");
    if (rows.size() > trials_max) return Ok{};
    for (auto const& row : rows) answers.add_if_there("trials/" + row.at("name").get<std::string>());
    return Ok{};
}

Result<Json> collect_answers(Answers answers, ExperimentId id, UtcTime now) {
    auto const experiment = "experiments/" + to_string(id);
    DET_TRY(answers.add(experiment));
    DET_TRY(add_curves(answers, experiment));
    DET_TRY(add_trials(answers, experiment));
    for (auto const* part : {"/search", "/checkpoints", "/report", "/config", "/events"})
        answers.add_if_there(experiment + part);
    return Result<Json>(
        Json{{"made", format_utc(now)}, {"experiment", id.value}, {"answers", std::move(answers).take()}});
}

/// Asks a tracker that runs on this host already, else answers in this process.
Result<Json> load_answers(Session& session, ExperimentId id) {
    DET_TRY_ASSIGN(auto const place, prepare_tracker_location(session));
    if (auto const client = tracker::client::find_tracker(place.paths)) {
        return collect_answers(Answers([&](auto const& target) { return client->get(target); }), id,
                               session.clock.now());
    }
    DET_TRY_ASSIGN(auto const history, open_current_history(place, {id}));
    auto environment = session.environment;
    environment.set("DET_ROOT", place.root.path().string());
    tracker::api::Sources sources{*history,      place.root,    environment,
                                  session.clock, session.slurm, session.cache};
    sources.foreign_root = session.foreign_root;
    tracker::api::LocalApi local(std::move(sources));
    return collect_answers(Answers([&](auto const& target) { return local.get(target); }), id,
                           session.clock.now());
}

}  // namespace

Result<std::string> render_experiment_page(Session& session, ExperimentId id) {
    DET_TRY_ASSIGN(auto const data, load_answers(session, id));
    return tracker::web::render_snapshot("experiment " + to_string(id), to_line(data));
}

}  // namespace det::cli
