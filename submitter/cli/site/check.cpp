#include <det/experiment/load_site.hpp>
#include <det/experiment/plugin_facts.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

using site::Finding;

std::string_view word_of(Finding const& finding) {
    return finding.severity == Finding::Severity::change ? "change" : "note";
}

class SiteCheck final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const file, experiment::load_site_file(session.environment));
        print(session.err, file.warnings, session.style);
        DET_TRY_ASSIGN(auto const partitions, session.slurm.query_partitions());
        DET_TRY_ASSIGN(auto const config, session.slurm.query_cluster_config());
        auto const findings = site::check_site(file, partitions, config, experiment::find_plugin(config));
        auto const changes = std::count_if(findings.begin(), findings.end(), [](auto const& each) {
            return each.severity == Finding::Severity::change;
        });
        session.answer(as_json(file, findings, changes == 0), as_text(file, findings, changes));
        return changes == 0 ? ExitCode::done : ExitCode::could_not;
    }

private:
    static Json as_json(config::SiteFile const& file, std::vector<Finding> const& findings, bool is_ok) {
        auto rows = Json::array();
        for (auto const& finding : findings) {
            rows.push_back({{"weight", word_of(finding)},
                            {"subject", finding.subject},
                            {"what", finding.what},
                            {"why", finding.why},
                            {"file", finding.file},
                            {"change", finding.change}});
        }
        return Json{{"ok", is_ok},
                    {"site_file", file.exists() ? Json(file.path) : Json(nullptr)},
                    {"findings", std::move(rows)}};
    }

    static std::string as_text(config::SiteFile const& file, std::vector<Finding> const& findings,
                               std::ptrdiff_t changes) {
        std::string text;
        for (auto const& finding : findings) {
            text +=
                fmt::format("{}: {}: {}\n", word_of(finding), finding.subject, escape_control(finding.what));
            text += fmt::format("  why: {}\n", escape_control(finding.why));
            if (!finding.change.empty())
                text += fmt::format("  in {}: {}\n", finding.file, escape_control(finding.change));
        }
        auto const against = file.exists() ? escape_control(file.path) : std::string("no site file");
        if (changes == 0) return text + fmt::format("{}: nothing has to change\n", against);
        return text + fmt::format("{}: {} thing{} to change\n", against, changes, changes == 1 ? "" : "s");
    }
};

}  // namespace

std::unique_ptr<Command> make_site_check() { return std::make_unique<SiteCheck>(); }

}  // namespace det::cli
