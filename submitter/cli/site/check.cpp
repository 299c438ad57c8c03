#include <det/experiment/check_accounting.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/plugin_facts.hpp>
#include <det/experiment/purge.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "site/findings.hpp"

namespace det::cli {
namespace {

class SiteCheck final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const file, experiment::load_site_file(session.environment));
        print(session.err, file.warnings, session.style);
        DET_TRY_ASSIGN(auto const partitions, session.slurm.query_partitions());
        DET_TRY_ASSIGN(auto const config, session.slurm.query_cluster_config());
        auto findings = site::check_site(file, partitions, config, experiment::collect_plugin_facts(config));
        auto const accounting = experiment::find_accounting_findings(file, partitions, config, session);
        findings.insert(findings.end(), accounting.begin(), accounting.end());
        auto const directories = experiment::find_directory_findings(file, session.environment);
        findings.insert(findings.end(), directories.begin(), directories.end());
        auto const purge = experiment::find_purge_findings(file, session);
        findings.insert(findings.end(), purge.begin(), purge.end());
        auto const changes = count_changes(findings);
        auto const against = file.exists() ? escape_control(file.path) : std::string("no site file");
        session.answer(Json{{"ok", changes == 0},
                            {"site_file", file.exists() ? Json(file.path) : Json(nullptr)},
                            {"findings", findings_json(findings)}},
                       fmt::format("{}{}: {}\n", findings_text(findings), against, changes_text(changes)));
        return changes == 0 ? ExitCode::done : ExitCode::could_not;
    }
};

}  // namespace

std::unique_ptr<Command> make_site_check() { return std::make_unique<SiteCheck>(); }

}  // namespace det::cli
