#pragma once
#include <det/config/site_file.hpp>
#include <det/experiment/context.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/error.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/site/check.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

/// What a site deletes: files below a directory, some days after their last use (purge_days).
struct Purge {
    std::int64_t days;
    std::string directory;  // the part of storage_root before %u; empty: all roots

    /// When the site may delete the files of an experiment: so many days after its end. nullopt if it has not
    /// ended, or if the root is elsewhere. Pure.
    std::optional<UtcTime> time_of(RootLayout const& root,
                                   tracker::history::ExperimentView const& view) const;
};

/// nullopt if the site file has no purge_days.
std::optional<Purge> find_purge(config::SiteFile const& site);

struct PurgedExperiment {
    ExperimentId id;
    UtcTime when;
};

/// A warning that names the experiments whose files the site deletes within two weeks, with the first day;
/// nullopt if there are none. Pure.
std::optional<Error> purge_warning(std::vector<PurgedExperiment> experiments,
                                   std::optional<Purge> const& purge, UtcTime now);

/// What `site check` says of the files of this user that the site deletes.
std::vector<site::Finding> find_purge_findings(config::SiteFile const& site, Context& context);

}  // namespace det::experiment
