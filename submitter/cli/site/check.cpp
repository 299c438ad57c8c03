#include <det/experiment/check_accounting.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/plugin_facts.hpp>
#include <det/experiment/purge.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/site/accounting_limits.hpp>
#include <det/slurm/recorded_cluster.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "site/findings.hpp"

namespace det::cli {
namespace {

class SiteCheck final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--from", &recording_, "what Slurm's commands have printed on another cluster"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const file, experiment::load_site_file(session.environment));
        print(session.err, file.warnings, session.style);
        DET_TRY_ASSIGN(auto const findings, recording_ ? check_recording(file) : check(file, session));
        auto const changes = count_changes(findings);
        auto const against = file.exists() ? escape_control(file.path) : std::string("no site file");
        session.answer(Json{{"ok", changes == 0},
                            {"site_file", file.exists() ? Json(file.path) : Json(nullptr)},
                            {"findings", findings_json(findings)}},
                       fmt::format("{}{}: {}\n", findings_text(findings), against, changes_text(changes)));
        return changes == 0 ? ExitCode::done : ExitCode::could_not;
    }

private:
    using Findings = std::vector<site::Finding>;

    static Result<Findings> check(config::SiteFile const& file, Session& session) {
        DET_TRY_ASSIGN(auto const partitions, session.slurm.query_partitions());
        DET_TRY_ASSIGN(auto const config, session.slurm.query_cluster_config());
        auto findings = site::check_site(file, partitions, config, experiment::collect_plugin_facts(config));
        auto const accounting = experiment::find_accounting_findings(file, partitions, config, session);
        findings.insert(findings.end(), accounting.begin(), accounting.end());
        auto const directories = experiment::find_directory_findings(file, session.environment);
        findings.insert(findings.end(), directories.begin(), directories.end());
        auto const purge = experiment::find_purge_findings(file, session);
        findings.insert(findings.end(), purge.begin(), purge.end());
        return findings;
    }

    /// Checks against a recording, which says nothing about the plugin and directories of this host.
    Result<Findings> check_recording(config::SiteFile const& file) const {
        DET_TRY_ASSIGN(auto const text, read_file(*recording_));
        auto const cluster = slurm::parse_recorded_cluster(text);
        if (!cluster) return Error(cluster.error()).while_doing(fmt::format("reading '{}'", *recording_));
        site::PluginFacts unknown;
        unknown.why_unknown = "this is a recording";
        auto findings = site::check_site(file, cluster->partitions, cluster->config, unknown);
        if (!cluster->accounting) return findings;
        auto const accounting =
            site::check_accounting(site::make_site(cluster->partitions, file), cluster->config,
                                   *cluster->accounting, user_of(*cluster->accounting));
        findings.insert(findings.end(), accounting.begin(), accounting.end());
        return findings;
    }

    /// The user whose associations were recorded.
    static std::string user_of(slurm::Accounting const& accounting) {
        auto const own = std::ranges::find_if(accounting.associations,
                                              [](auto const& each) { return !each.user.empty(); });
        return own == accounting.associations.end() ? "" : own->user;
    }

    std::optional<std::string> recording_;
};

}  // namespace

std::unique_ptr<Command> make_site_check() { return std::make_unique<SiteCheck>(); }

}  // namespace det::cli
