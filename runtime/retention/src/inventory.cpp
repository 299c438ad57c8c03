#include <det/checkpoint/of_run.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/numbered.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/retention/inventory.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace det::retention {
namespace {

std::optional<double> number_in(Json const& metrics, std::string const& name) {
    auto const found = metrics.find(name);
    if (found == metrics.end() || !found->is_number()) return std::nullopt;
    auto const value = found->get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::uint64_t total_size(Json const& resources) {
    std::uint64_t sum = 0;
    for (auto const& [path, size] : resources.items())
        sum += size.is_number_unsigned() ? size.get<std::uint64_t>() : 0;
    return sum;
}

/// A trial's checkpoints, those that are gone included.
Result<std::vector<KnownCheckpoint>> read_trial(TrialLayout const& trial, std::uint32_t index,
                                                std::string const& metric, checkpoint::Store const& store) {
    std::vector<KnownCheckpoint> checkpoints;
    std::map<std::uint64_t, double> validations;  // by step; the first counts, as Determined has it
    DET_TRY_ASSIGN(auto const runs, list_numbers(trial.runs()));
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const journal, journal::load_journal(trial.run(run).journal()));
        DET_TRY_ASSIGN(auto const of_run, checkpoint::checkpoints_of_run(journal.records, store));
        for (auto const& known : of_run)
            checkpoints.push_back(
                {known.uuid, index, known.steps_completed, {}, total_size(known.resources)});
        for (auto const& record : journal.records) {
            auto const* metrics = std::get_if<MetricsReported>(&record);
            if (metrics == nullptr || metrics->group != "validation") continue;
            if (auto const value = number_in(metrics->metrics, metric))
                validations.emplace(metrics->steps_completed, *value);
        }
    }
    for (auto& checkpoint : checkpoints) {
        auto const found = validations.find(checkpoint.steps_completed);
        if (found != validations.end()) checkpoint.metric = found->second;
    }
    return checkpoints;
}

}  // namespace

Result<ExperimentSpec> load_spec(ExperimentLayout const& experiment) {
    DET_TRY_ASSIGN(auto const text, read_file(experiment.spec()));
    auto spec = parse_spec(text);
    if (!spec)
        return std::move(spec).error().while_doing(fmt::format("reading '{}'", experiment.spec().string()));
    return spec;
}

Result<std::vector<KnownCheckpoint>> take_inventory(ExperimentLayout const& experiment,
                                                    ExperimentSpec const& spec,
                                                    checkpoint::Store const& store) {
    std::vector<KnownCheckpoint> all;
    DET_TRY_ASSIGN(auto const trials, list_numbers(experiment.trials()));
    for (auto const index : trials) {
        DET_TRY_ASSIGN(auto own, read_trial(experiment.trial(index), index, spec.searcher.metric, store));
        for (auto& checkpoint : own) {
            auto const found = store.find(checkpoint.uuid);
            if (!found && found.error().code == codes::no_such_checkpoint) continue;
            all.push_back(std::move(checkpoint));
        }
    }
    return all;
}

Result<std::set<std::string>> list_warm_starts(RootLayout const& root) {
    std::set<std::string> uuids;
    DET_TRY_ASSIGN(auto const experiments, list_numbers(root.experiments()));
    for (auto const id : experiments) {
        auto const spec = load_spec(ExperimentLayout(root, {id}));
        if (!spec && spec.error().code == codes::no_such_file) continue;  // being created
        if (!spec) return spec.error();
        auto const searcher =
            spec->config.is_object() ? spec->config.value("searcher", Json::object()) : Json();
        auto const source = searcher.is_object() ? searcher.value("source_checkpoint_uuid", Json()) : Json();
        if (source.is_string()) uuids.insert(source.get<std::string>());
    }
    return uuids;
}

}  // namespace det::retention
