#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/model_registry/registry.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/retention/find_latest_valid.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace det::retention {
namespace {

constexpr std::int64_t lock_lifetime_us = std::int64_t{3600} * 1'000'000;

/// A lock file that contains its creation time. The lock expires after an hour.
class GcLock {
public:
    static Result<GcLock> take(std::filesystem::path const& path, UtcTime now) {
        for (int attempt = 0; attempt < 2; ++attempt) {
            DET_TRY_ASSIGN(bool const is_new, write_new_file(path, format_utc(now) + "\n"));
            if (is_new) return GcLock(path);
            auto const text = read_file(path);
            auto const since = text ? parse_utc(trim(*text)) : std::nullopt;
            if (since && now.microseconds - since->microseconds < lock_lifetime_us) {
                return Error{codes::wrong_state,
                             fmt::format("another process removes checkpoints since {}", format_utc(*since)),
                             fmt::format("if none does, remove '{}'", path.string())};
            }
            ::unlink(path.c_str());  // the lock has expired
        }
        return Error{codes::wrong_state, "another process has just begun to remove checkpoints"};
    }
    GcLock(GcLock&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    GcLock& operator=(GcLock&&) = delete;
    ~GcLock() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }

private:
    explicit GcLock(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

/// Keeps the newest valid checkpoint of trials that may still run.
Status keep_latest_valid(std::span<KnownCheckpoint const> checkpoints, checkpoint::Store const& store,
                         GcOptions const& options, std::set<std::string>& kept) {
    std::set<std::uint32_t> unfinished;
    for (auto const& checkpoint : checkpoints) {
        if (!options.is_over(checkpoint.trial)) unfinished.insert(checkpoint.trial);
    }
    for (auto const trial : unfinished) {
        DET_TRY_ASSIGN(auto const latest, find_latest_valid(checkpoints, trial, store));
        if (latest) kept.insert(*latest);
    }
    return Ok{};
}

}  // namespace

Result<GcReport> collect_garbage(RootLayout const& root, ExperimentLayout const& experiment,
                                 checkpoint::Store& store, GcOptions const& options) {
    DET_TRY(journal::require_not_packed(experiment));
    DET_TRY_ASSIGN(auto const lock, GcLock::take(experiment.path() / gc_lock_name, options.now));
    DET_TRY_ASSIGN(auto const spec, journal::load_spec(experiment));
    DET_TRY_ASSIGN(auto const checkpoints, list_stored_checkpoints(experiment, spec, store));
    auto kept = choose_kept(options.policy, spec.searcher.smaller_is_better, checkpoints);
    DET_TRY_ASSIGN(auto const warm_starts, list_source_checkpoints(root));
    kept.insert(warm_starts.begin(), warm_starts.end());
    DET_TRY_ASSIGN(auto const registry, model_registry::load_registry(root));
    kept.merge(model_registry::registered_checkpoints(registry));
    DET_TRY(keep_latest_valid(checkpoints, store, options, kept));

    DET_TRY_ASSIGN(auto const uncommitted, find_uncommitted(experiment, store, options.is_over));

    GcReport report;
    auto const remove = [&](std::string const& uuid) {
        auto removed = options.mode == GcMode::remove ? store.remove(uuid) : Status(Ok{});
        if (!removed) report.failures.push_back(removed.error());
        return removed.has_value();
    };
    for (auto const& checkpoint : checkpoints) {
        if (kept.contains(checkpoint.uuid)) {
            report.kept.push_back(checkpoint);
        } else if (remove(checkpoint.uuid)) {
            report.removed.push_back(checkpoint);
        }
    }
    for (auto const& each : uncommitted) {
        if (remove(each.uuid)) report.uncommitted.push_back(each);
    }
    return report;
}

}  // namespace det::retention
