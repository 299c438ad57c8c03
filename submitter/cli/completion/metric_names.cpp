#include "completion/metric_names.hpp"

#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>

#include <optional>

namespace det::cli {
namespace {

constexpr std::size_t trials_max = 4;      // of an experiment; its trials report the same metrics
constexpr std::ptrdiff_t runs_max = 4;     // of a trial, the newest ones
constexpr std::size_t reports_max = 1000;  // that have their names themselves, and take long to decode

std::vector<std::uint32_t> numbers_in(std::filesystem::path const& directory) {
    return list_numeric_names(directory).value_or(std::vector<std::uint32_t>());
}

void add_columns(MetricFrameReader const& reader, std::set<std::string>& names) {
    for (auto const& [id, schema] : reader.schemas()) {
        for (auto const& column : schema.columns) names.insert(column.name);
    }
}

/// A report that has values other than numbers.
void add_names_of_report(journal::FrameView const& frame, std::set<std::string>& names) {
    auto const record = decode_record(frame.type, frame.payload);
    if (!record || !*record) return;
    auto const* const report = std::get_if<MetricsReported>(&**record);
    if (report == nullptr) return;
    for (auto const& [name, value] : report->metrics->items()) names.insert(name);
}

/// Reports of numbers have their names in a frame before them, any other report has them itself.
void add_names_in_journal(std::filesystem::path const& path, std::set<std::string>& names) {
    auto const bytes = journal::read_journal_bytes(path, 0);
    if (!bytes || bytes->size() < journal::header_size_bytes || !journal::check_header(*bytes)) return;
    MetricFrameReader reader;
    std::size_t reports = 0;
    for (auto rest = std::string_view(*bytes).substr(journal::header_size_bytes);;) {
        auto const frame = journal::read_frame(rest);
        if (frame.state != journal::FrameState::whole) break;
        rest.remove_prefix(frame.size_bytes);
        if (frame.type == static_cast<std::uint16_t>(RecordType::metric_schema))
            (void)reader.add_schema(frame.payload);
        if (frame.type == static_cast<std::uint16_t>(RecordType::metrics) && ++reports <= reports_max)
            add_names_of_report(frame, names);
    }
    add_columns(reader, names);
}

void add_names_of_trial(ExperimentLayout const& experiment, std::uint32_t trial,
                        std::set<std::string>& names) {
    auto const layout = experiment.trial(trial);
    auto runs = numbers_in(layout.runs());
    if (std::ssize(runs) > runs_max) runs.erase(runs.begin(), runs.end() - runs_max);
    for (auto const run : runs) add_names_in_journal(layout.run(run).chief_journal(), names);
}

void add_names_of_experiment(ExperimentLayout const& experiment, std::set<std::string>& names) {
    auto trials = numbers_in(experiment.path() / "trials");
    if (trials.size() > trials_max) trials.resize(trials_max);
    for (auto const trial : trials) add_names_of_trial(experiment, trial, names);
}

std::optional<ExperimentId> newest_experiment(RootLayout const& root) {
    auto const numbers = numbers_in(root.experiments());
    return numbers.empty() ? std::nullopt : std::optional(ExperimentId{numbers.back()});
}

void add_metric_of_searcher(ExperimentLayout const& experiment, std::set<std::string>& names) {
    auto const spec = journal::load_spec(experiment);
    if (spec && !spec->searcher.metric.empty()) names.insert(spec->searcher.metric);
}

}  // namespace

std::set<std::string> find_metric_names(RootLayout const& root, std::vector<std::string> const& named) {
    std::set<std::string> names;
    bool has_named = false;
    for (auto const& word : named) {
        auto const trial = parse_trial_id(word);
        auto const id = trial            ? std::optional(trial->experiment)
                        : word == "last" ? newest_experiment(root)
                                         : parse_experiment_id(word);
        if (!id) continue;
        has_named = true;
        ExperimentLayout const experiment(root, *id);
        add_metric_of_searcher(experiment, names);
        if (trial) {
            add_names_of_trial(experiment, trial->index, names);
        } else {
            add_names_of_experiment(experiment, names);
        }
    }
    auto const newest = has_named ? std::nullopt : newest_experiment(root);
    if (newest) {
        ExperimentLayout const experiment(root, *newest);
        add_metric_of_searcher(experiment, names);
        add_names_of_experiment(experiment, names);
    }
    return names;
}

}  // namespace det::cli
