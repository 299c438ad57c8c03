#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_trust.hpp>
#include <det/experiment/trusted_directories.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr char why_trusted[] =
    "whoever can write a directory above code or experiments can put his own in their place";

void add_refusal(std::vector<site::Finding>& findings, std::string subject, Status const& checked) {
    if (checked) return;
    findings.push_back({site::Finding::Severity::change, std::move(subject), checked.error().message,
                        why_trusted, "the directories", checked.error().hint});
}

void check_listed(std::vector<site::Finding>& findings, std::string const& path, TrustRules const& rules) {
    auto const subject = fmt::format("trusted_ancestors '{}'", path);
    auto const access = load_access(path);
    if (access) return add_refusal(findings, subject, check_trusted_path(path, rules));
    findings.push_back({site::Finding::Severity::change, subject, access.error().message,
                        "a directory that is made later would be trusted", "the site file",
                        "remove it from trusted_ancestors"});
}

/// The host_path of the checkpoint storage in task_defaults or invariants; empty if there is none.
fs::path storage_in(yaml::Node const& configuration) {
    auto const* storage = configuration.find("checkpoint_storage");
    auto const* path = storage != nullptr ? storage->find("host_path") : nullptr;
    return path != nullptr && path->is_text() ? fs::path(*path->text()) : fs::path();
}

}  // namespace

TrustRules trust_rules(config::SiteFile const& site) {
    TrustRules rules;
    rules.trusted_ancestors.assign(site.trusted_ancestors.begin(), site.trusted_ancestors.end());
    return rules;
}

Status require_trusted_root(RootLayout const& root, TrustRules const& rules) {
    for (auto const& directory :
         {root.path(), root.experiments(), root.contexts(), root.templates(), root.models()}) {
        if (auto checked = check_trusted_directory(directory, rules); !checked)
            return std::move(checked).error().while_doing("checking the root '" + root.path().string() + "'");
    }
    return Ok{};
}

Status require_trusted_experiment(OpenExperiment const& experiment, Context& context) {
    auto const site = load_site_file(context.environment);
    if (!site) return site.error().sorted().front().error;
    auto const rules = trust_rules(*site);
    DET_TRY(require_trusted_root(experiment.root, rules));
    return check_trusted_directory(experiment.layout.path(), rules);
}

std::vector<site::Finding> find_directory_findings(config::SiteFile const& site,
                                                   Environment const& environment) {
    std::vector<site::Finding> findings;
    auto const rules = trust_rules(site);
    for (auto const& path : site.trusted_ancestors) check_listed(findings, path, rules);
    for (auto const& name : find_unknown_owners(site))
        findings.push_back({site::Finding::Severity::note, fmt::format("trusted_owners '{}'", name),
                            "there is no such user or group here", "it is ignored on this host",
                            "the site file", "correct the name, or remove it"});
    for (auto const* part : {&site.task_defaults, &site.invariants})
        add_refusal(findings, "checkpoint_storage", require_trusted_storage(storage_in(*part), rules));
    auto const root = find_root(environment);
    if (!root) {
        add_refusal(findings, "your root", root.error());
    } else {
        add_refusal(findings, "your root", require_trusted_root(*root, rules));
    }
    return findings;
}

Status require_trusted_storage(std::filesystem::path const& directory, TrustRules const& rules) {
    if (directory.empty()) return Ok{};
    auto checked = check_trusted_path(directory, rules);
    if (!checked) return std::move(checked).error().while_doing("checking the checkpoint storage");
    return Ok{};
}

}  // namespace det::experiment
