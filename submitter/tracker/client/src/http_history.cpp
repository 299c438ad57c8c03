#include <det/protocol/json.hpp>
#include <det/tracker/client/http_history.hpp>
#include <det/tracker/history/record_json.hpp>

#include <fmt/format.h>

namespace det::tracker::client {

Result<Json> HttpHistory::get(std::string const& target) {
    DET_TRY_ASSIGN(auto const text, client_->get("/v1/records" + target));
    auto json = try_parse_json(text);
    if (json.is_discarded()) return Error{codes::transport, "the tracker's answer is not JSON"};
    return Result<Json>(std::move(json));
}

Result<std::vector<ExperimentId>> HttpHistory::list_experiments() {
    DET_TRY_ASSIGN(auto const json, get("/experiments"));
    return decode_json("the tracker's list of experiments", [&] {
        std::vector<ExperimentId> ids;
        for (auto const& id : json.at("experiments")) ids.push_back({id.get<std::uint32_t>()});
        return ids;
    });
}

Result<history::ExperimentRecord> HttpHistory::load_experiment(ExperimentId id) {
    DET_TRY_ASSIGN(auto const json, get("/experiments/" + to_string(id)));
    return history::parse_experiment_record(json);
}

Result<std::vector<history::RunReports>> HttpHistory::load_reports(TrialId id) {
    DET_TRY_ASSIGN(auto const json, get("/trials/" + to_string(id) + "/reports"));
    auto const runs = json.find("runs");
    if (runs == json.end() || !runs->is_array())
        return Error{codes::damaged, "the tracker's answer has no list of runs"};
    std::vector<history::RunReports> reports;
    for (auto const& run : *runs) {
        DET_TRY_ASSIGN(auto parsed, history::parse_run_reports(run));
        reports.push_back(std::move(parsed));
    }
    history::set_cut_offs(reports);
    return reports;
}

Result<std::vector<search::RungEntry>> HttpHistory::load_rung(ExperimentId id, std::uint32_t bracket,
                                                              std::uint32_t rung) {
    DET_TRY_ASSIGN(auto const json, get(fmt::format("/experiments/{}/rungs/{}/{}", id.value, bracket, rung)));
    DET_TRY_ASSIGN(auto const names, decode_json("the tracker's rung", [&] {
                       return json.at("entries").get<std::vector<std::string>>();
                   }));
    return search::parse_rung(names);
}

Result<std::optional<journal::BestValidation>> HttpHistory::load_best_validation(TrialId id,
                                                                                 ExperimentSpec const& spec) {
    auto const target =
        fmt::format("/trials/{}/best-validation?metric={}&smaller_is_better={}", to_string(id),
                    http::percent_encode(spec.searcher.metric), spec.searcher.smaller_is_better);
    DET_TRY_ASSIGN(auto const json, get(target));
    return decode_json("the tracker's best validation", [&] {
        std::optional<journal::BestValidation> best;
        if (json.at("best").is_null()) return best;
        auto const& fields = json.at("best");
        best.emplace(journal::BestValidation{fields.at("value").get<double>(),
                                             fields.at("steps_completed").get<std::uint64_t>()});
        return best;
    });
}

}  // namespace det::tracker::client
