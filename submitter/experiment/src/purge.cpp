#include <det/experiment/purge.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::experiment {
namespace {

constexpr std::int64_t day_us = std::int64_t{86'400} * 1'000'000;
constexpr std::int64_t warned_days = 14;
constexpr std::size_t named_max = 10;

}  // namespace

std::optional<UtcTime> Purge::time_of(RootLayout const& root,
                                      tracker::history::ExperimentView const& view) const {
    auto const ended = view.ended();
    if (!ended || !root.path().string().starts_with(directory)) return std::nullopt;
    return UtcTime{ended->microseconds + days * day_us};
}

std::optional<Purge> find_purge(config::SiteFile const& site) {
    if (!site.purge_days) return std::nullopt;
    auto const roots = site.storage_root.value_or("");
    return Purge{*site.purge_days, config::expand_storage_root(roots.substr(0, roots.find("%u")), "")};
}

std::optional<Error> purge_warning(std::vector<PurgedExperiment> experiments,
                                   std::optional<Purge> const& purge, UtcTime now) {
    std::erase_if(experiments, [&](auto const& each) {
        return each.when.microseconds > now.microseconds + warned_days * day_us;
    });
    if (experiments.empty() || !purge) return std::nullopt;
    std::ranges::stable_sort(experiments, {}, [](auto const& each) { return each.when.microseconds; });
    std::vector<std::uint32_t> ids;
    for (auto const& each : experiments) {
        if (ids.size() < named_max) ids.push_back(each.id.value);
    }
    auto const more = experiments.size() - ids.size();
    auto const first = format_utc(experiments.front().when).substr(0, 10);
    return Error{
        codes::file_system,
        fmt::format("the site deletes files that are {} days old: those of experiment {}{} from {} on",
                    purge->days, fmt::join(ids, ", "),
                    more == 0 ? std::string() : fmt::format(" and {} more", more), first),
        "'det-submit experiment download ID' copies the best checkpoints"};
}

std::vector<site::Finding> find_purge_findings(config::SiteFile const& site, Context& context) {
    auto const purge = find_purge(site);
    auto const root = find_root(context.environment);
    if (!purge || !root) return {};
    auto const history = context.open_journals(root->for_reading(context.places));
    std::vector<PurgedExperiment> experiments;
    for (auto const id : history->list_experiments().value_or(std::vector<ExperimentId>())) {
        auto record = history->load_experiment(id);
        if (!record) continue;
        auto const when = purge->time_of(*root, view_experiment(*std::move(record), {}));
        if (when) experiments.push_back({id, *when});
    }
    auto warning = purge_warning(std::move(experiments), purge, context.clock.now());
    if (!warning) return {};
    return {{site::Finding::Severity::note, "your root", warning->message, "the site file says purge_days",
             "", ""}};
}

}  // namespace det::experiment
