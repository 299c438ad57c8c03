#include "completion/metric_names.hpp"

#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>

#include <algorithm>
#include <optional>

namespace det::cli {
namespace {

constexpr std::size_t trials_max = 4;      // of an experiment; its trials report the same metrics
constexpr std::size_t runs_max = 4;        // of a trial, the newest ones
constexpr std::size_t reports_max = 1000;  // that have their names themselves, and take long to decode
constexpr std::size_t bytes_max = std::size_t{32} << 20;  // of all journals together

std::vector<std::uint32_t> numbers_in(std::filesystem::path const& directory) {
    return list_numeric_names(directory).value_or(std::vector<std::uint32_t>());
}

std::optional<ExperimentId> newest_experiment(RootLayout const& root) {
    auto const numbers = numbers_in(root.experiments());
    return numbers.empty() ? std::nullopt : std::optional(ExperimentId{numbers.back()});
}

/// Collects the names that journals have, until it has read bytes_max.
class MetricNames {
public:
    void add_experiment(ExperimentLayout const& experiment) {
        add_metric_of_searcher(experiment);
        auto trials = numbers_in(experiment.path() / "trials");
        if (trials.size() > trials_max) trials.resize(trials_max);
        for (auto const trial : trials) add_trial(experiment.trial(trial));
    }
    void add_trial(ExperimentLayout const& experiment, std::uint32_t trial) {
        add_metric_of_searcher(experiment);
        add_trial(experiment.trial(trial));
    }
    std::set<std::string> take() { return std::move(names_); }

private:
    void add_metric_of_searcher(ExperimentLayout const& experiment) {
        auto const spec = journal::load_spec(experiment);
        if (spec && !spec->searcher.metric.empty()) names_.insert(spec->searcher.metric);
    }

    /// The newest run may have reported only some of the metrics.
    void add_trial(TrialLayout const& trial) {
        auto const runs = numbers_in(trial.runs());
        auto const tried = std::min(runs.size(), runs_max);
        for (std::size_t i = 0; i < tried; ++i) {
            add_journal(trial.run(runs[runs.size() - 1 - i]).chief_journal());
        }
    }

    /// Reports of numbers have their names in a frame before them, any other report has them itself.
    void add_journal(std::filesystem::path const& path) {
        if (bytes_left_ == 0) return;
        auto const bytes = journal::read_journal_bytes(path, 0);
        if (!bytes || bytes->size() < journal::header_size_bytes || !journal::check_header(*bytes)) return;
        bytes_left_ -= std::min(bytes_left_, bytes->size());
        MetricFrameReader reader;
        std::size_t reports = 0;
        for (auto rest = std::string_view(*bytes).substr(journal::header_size_bytes);;) {
            auto const frame = journal::read_frame(rest);
            if (frame.state != journal::FrameState::whole) break;
            rest.remove_prefix(frame.size_bytes);
            if (frame.type == static_cast<std::uint16_t>(RecordType::metric_schema))
                (void)reader.add_schema(frame.payload);
            if (frame.type == static_cast<std::uint16_t>(RecordType::metrics) && ++reports <= reports_max)
                add_report(frame);
        }
        for (auto const& [id, schema] : reader.schemas()) {
            for (auto const& column : schema.columns) names_.insert(column.name);
        }
    }

    /// A report that has values other than numbers.
    void add_report(journal::FrameView const& frame) {
        auto const record = decode_record(frame.type, frame.payload);
        if (!record || !*record) return;
        auto const* const report = std::get_if<MetricsReported>(&**record);
        if (report == nullptr) return;
        for (auto const& [name, value] : report->metrics->items()) names_.insert(name);
    }

    std::set<std::string> names_;
    std::size_t bytes_left_ = bytes_max;
};

}  // namespace

std::set<std::string> find_metric_names(RootLayout const& root, std::vector<std::string> const& named) {
    MetricNames names;
    bool has_named = false;
    for (auto const& word : named) {
        auto const trial = parse_trial_id(word);
        auto const id = trial            ? std::optional(trial->experiment)
                        : word == "last" ? newest_experiment(root)
                                         : parse_experiment_id(word);
        if (!id) continue;
        has_named = true;
        ExperimentLayout const experiment(root, *id);
        if (trial) {
            names.add_trial(experiment, trial->index);
        } else {
            names.add_experiment(experiment);
        }
    }
    auto const newest = has_named ? std::nullopt : newest_experiment(root);
    if (newest) names.add_experiment(ExperimentLayout(root, *newest));
    return names.take();
}

}  // namespace det::cli
