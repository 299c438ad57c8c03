#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/history.hpp>

#include <cmath>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "trial/node_profile.hpp"

namespace det::cli {
namespace {

/// "1.23 M" for 1234567.
std::string scaled(double value) {
    constexpr std::string_view prefixes[] = {"", " k", " M", " G", " T", " P"};
    std::size_t prefix = 0;
    while (std::abs(value) >= 1000 && prefix + 1 < std::size(prefixes)) {
        value /= 1000;
        ++prefix;
    }
    return fmt::format("{:.2f}{}", value, prefixes[prefix]);
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1000); }

struct RunProfile {
    std::size_t run = 0;
    std::vector<NodeProfile> nodes;
    std::map<std::string, Timing> timings;
};

class TrialProfile final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the trial", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const profiles, load(session));
        if (session.wants_json()) {
            session.answer(as_json(profiles));
        } else {
            session.out << as_text(profiles, answer_style_of(session));
        }
        return ExitCode::done;
    }

private:
    Result<std::vector<RunProfile>> load(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        DET_TRY_ASSIGN(auto const reports, session.open_history(root)->load_reports(id));
        ExperimentLayout const experiment(root, id.experiment);
        DET_TRY_ASSIGN(auto const spec, journal::load_spec(experiment));
        auto const profiling = spec.config->value("profiling", Json::object());
        auto const begin = profiling.value("begin_on_batch", std::uint64_t{0});
        std::optional<std::uint64_t> end;
        if (profiling.contains("end_after_batch") && profiling["end_after_batch"].is_number_unsigned())
            end = profiling["end_after_batch"].get<std::uint64_t>();
        std::vector<RunProfile> profiles;
        for (std::uint32_t number = 0; number < reports.size(); ++number) {
            auto const period = find_profiled_period(reports[number].metrics, begin, end);
            if (!period) continue;
            RunProfile profile{number, {}, sum_timings(reports[number].metrics, *period)};
            DET_TRY_ASSIGN(profile.nodes,
                           load_node_profiles(experiment.trial(id.index).run(number), *period));
            if (!profile.nodes.empty() || !profile.timings.empty()) profiles.push_back(std::move(profile));
        }
        return profiles;
    }

    static Json as_json(std::vector<RunProfile> const& profiles) {
        auto answer = Json::array();
        for (auto const& profile : profiles) {
            Json run{{"run", profile.run}, {"nodes", Json::array()}, {"timings", Json::array()}};
            for (auto const& node : profile.nodes) {
                auto metrics = Json::array();
                for (auto const& metric : node.metrics) {
                    metrics.push_back(
                        {{"group", metric.group},
                         {"name", metric.name},
                         {"device", metric.device.empty() ? Json(nullptr) : Json(metric.device)},
                         {"unit", unit_of(metric.name)},
                         {"mean", metric.mean},
                         {"max", metric.max}});
                }
                run["nodes"].push_back({{"node", node.index}, {"host", node.host}, {"metrics", metrics}});
            }
            for (auto const& [name, timing] : profile.timings) {
                run["timings"].push_back({{"name", name},
                                          {"count", timing.count},
                                          {"total_s", timing.total_s},
                                          {"max_s", timing.max_s}});
            }
            answer.push_back(std::move(run));
        }
        return answer;
    }

    static std::string as_text(std::vector<RunProfile> const& profiles, AnswerStyle const& style) {
        if (profiles.empty())
            return "Nothing was profiled. Set 'profiling: {enabled: true}' in the configuration.\n";
        Table metrics({"Run", "Node", "Metric", "Device", "Mean", "Max", "Unit"}, {"Device", "Max"});
        Table timings({"Run", "Timing", "Count", "Total", "Mean", "Max"});
        bool has_metrics = false, has_timings = false;
        for (auto const& profile : profiles) {
            auto const run = std::to_string(profile.run);
            for (auto const& node : profile.nodes) {
                for (auto const& metric : node.metrics) {
                    metrics.add({run, node.host, metric.name, metric.device, scaled(metric.mean),
                                 scaled(metric.max), std::string(unit_of(metric.name))});
                    has_metrics = true;
                }
            }
            for (auto const& [name, timing] : profile.timings) {
                auto const mean = timing.count > 0 ? timing.total_s / timing.count : 0;
                timings.add({run, name, fmt::format("{:.0f}", timing.count),
                             fmt::format("{:.3f} s", timing.total_s), milliseconds(mean),
                             milliseconds(timing.max_s)});
                has_timings = true;
            }
        }
        return (has_metrics ? metrics.render(style) : "") + (has_metrics && has_timings ? "\n" : "") +
               (has_timings ? timings.render(style) : "");
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_trial_profile() { return std::make_unique<TrialProfile>(); }

}  // namespace det::cli
