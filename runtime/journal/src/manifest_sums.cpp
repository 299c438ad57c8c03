#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <filesystem>
#include <map>
#include <mutex>

namespace det::journal {
namespace {

namespace fs = std::filesystem;

std::optional<RunId> parse_run_name(std::string const& name) {
    auto const dot = name.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    auto const trial = parse_trial_id(name.substr(0, dot));
    auto const number = parse_integer<std::uint32_t>(std::string_view(name).substr(dot + 1));
    if (!trial || !number) return std::nullopt;
    return RunId{*trial, *number};
}

/// Adds the sums of manifests that a command has replaced.
Status add_changes(fs::path const& events, std::string const& uuid, std::vector<std::string>& sums) {
    DET_TRY_ASSIGN(auto const all, load_events(events));
    for (auto const& event : all) {
        if (event.kind != checkpoint_changed_event || !event.body->is_object()) continue;
        if (event.body->value("uuid", "") == uuid) sums.push_back(event.body->value("manifest_sha256", ""));
    }
    return Ok{};
}

}  // namespace

struct ManifestSums::Cache {
    struct JournalOfRun {
        std::uintmax_t size_bytes = 0;            // when it was read
        std::map<std::string, std::string> sums;  // of manifests, by checkpoint
    };

    Cache(RootLayout layout, std::optional<ExperimentId> only) : root(std::move(layout)), experiment(only) {}

    RootLayout const root;
    std::optional<ExperimentId> const experiment;
    std::mutex mutex;
    std::map<fs::path, JournalOfRun> journals;
    std::map<ExperimentId, std::optional<PackSummary>> packed;  // of experiments without journals

    /// What the run has recorded for the checkpoint: nullopt if it does not know it, and an empty text if its
    /// record has no sum. Of a damaged journal all whole records count.
    Result<std::optional<std::string>> find_in(RunLayout const& run, std::string const& uuid) {
        auto const path = run.chief_journal();
        std::error_code absent;
        auto const size = fs::file_size(path, absent);
        if (absent) return std::optional<std::string>();
        auto& journal = journals[path];
        if (journal.size_bytes != size) {
            DET_TRY_ASSIGN(auto const contents, salvage_journal(path));
            for (auto const& record : contents.records) {
                if (auto const* committed = std::get_if<CheckpointCommitted>(&record))
                    journal.sums[committed->uuid] = committed->manifest_sha256;
            }
            journal.size_bytes = size;
        }
        auto const found = journal.sums.find(uuid);
        return found == journal.sums.end() ? std::nullopt : std::optional(found->second);
    }

    Result<std::vector<std::string>> sums_of(std::string const& recorded, ExperimentId id,
                                             std::string const& uuid) const {
        std::vector<std::string> sums;
        if (recorded.empty()) return sums;
        sums.push_back(recorded);
        DET_TRY(add_changes(ExperimentLayout(root, id).events(), uuid, sums));
        return sums;
    }

    /// The sums that a packed experiment has recorded; nullopt if it is not packed or has not recorded the
    /// checkpoint.
    Result<std::optional<std::vector<std::string>>> find_packed(ExperimentId id, std::string const& uuid) {
        using Sums = std::optional<std::vector<std::string>>;
        ExperimentLayout const layout(root, id);
        auto known = packed.find(id);
        if (known == packed.end()) {
            if (path_exists(layout.trials()) && !path_exists(layout.pack())) return Sums();
            DET_TRY_ASSIGN(auto summary, find_pack_summary(layout));
            known = packed.emplace(id, std::move(summary)).first;
        }
        if (!known->second) return Sums();
        auto const found = known->second->manifest_sums.find(uuid);
        return found == known->second->manifest_sums.end() ? Sums() : Sums(found->second);
    }

    /// Searches all runs of an experiment. Ignores journals that can't be read.
    Result<std::optional<std::vector<std::string>>> find_in(ExperimentId id, std::string const& uuid) {
        DET_TRY_ASSIGN(auto of_pack, find_packed(id, uuid));
        if (of_pack) return of_pack;
        ExperimentLayout const layout(root, id);
        DET_TRY_ASSIGN(auto const trials, list_numeric_names(layout.trials()));
        for (auto const trial : trials) {
            DET_TRY_ASSIGN(auto const runs, list_numeric_names(layout.trial(trial).runs()));
            for (auto const run : runs) {
                auto const found = find_in(layout.trial(trial).run(run), uuid);
                if (!found || !*found) continue;
                DET_TRY_ASSIGN(auto sums, sums_of(**found, id, uuid));
                return std::optional(std::move(sums));
            }
        }
        return std::optional<std::vector<std::string>>();
    }
};

ManifestSums::ManifestSums(RootLayout root, std::optional<ExperimentId> experiment)
    : cache_(std::make_shared<Cache>(std::move(root), experiment)) {}

Result<std::vector<std::string>> ManifestSums::find(std::string const& uuid, std::string const& run) const {
    std::lock_guard const lock(cache_->mutex);
    if (auto const named = parse_run_name(run)) {
        auto const& trial = named->trial;
        auto const layout = ExperimentLayout(cache_->root, trial.experiment).trial(trial.index);
        DET_TRY_ASSIGN(auto const recorded, cache_->find_in(layout.run(named->number), uuid));
        if (recorded) return cache_->sums_of(*recorded, trial.experiment, uuid);
        DET_TRY_ASSIGN(auto of_pack, cache_->find_packed(trial.experiment, uuid));
        if (of_pack) return *std::move(of_pack);
    }
    std::vector<ExperimentId> searched;
    if (cache_->experiment) {
        searched.push_back(*cache_->experiment);
    } else {
        DET_TRY_ASSIGN(auto const numbers, list_numeric_names(cache_->root.experiments()));
        for (auto const number : numbers) searched.push_back({number});
    }
    for (auto const id : searched) {
        DET_TRY_ASSIGN(auto found, cache_->find_in(id, uuid));
        if (found) return *std::move(found);
    }
    return std::vector<std::string>();
}

}  // namespace det::journal
