#include "completion/existing_names.hpp"

#include <det/config/key_reference.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/models.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "completion/metric_names.hpp"

namespace det::cli {
namespace {

constexpr std::size_t described_max = 20;  // experiments whose name is read: a spec.json each
constexpr std::size_t names_max = 1000;    // of a root with very many experiments or checkpoints

std::string name_of(ExperimentLayout const& experiment) {
    auto const spec = journal::load_spec(experiment);
    return spec ? spec->name : "";
}

/// The keys of the section that is being typed ("resources.", then its keys), or the words that a key takes.
std::vector<Candidate> config_keys(std::string const& begun) {
    std::vector<Candidate> found;
    if (auto const equals = begun.find('='); equals != std::string::npos) {
        for (auto const& word : config::words_for_key(begun.substr(0, equals)))
            found.push_back({begun.substr(0, equals + 1) + word});
        return found;
    }
    auto const point = begun.rfind('.');
    auto const section = point == std::string::npos ? "" : begun.substr(0, point);
    for (auto const& key : config::keys_below(section)) {
        auto const path = section.empty() ? key.name : section + '.' + key.name;
        if (key.takes_value) found.push_back({path + '=', key.help});
        if (key.has_keys) found.push_back({path + '.', key.help});
    }
    return found;
}

}  // namespace

std::vector<Candidate> ExistingNames::find_names(ValueKind kind, std::string const& begun,
                                                 std::vector<std::string> const& arguments) {
    switch (kind) {
        case ValueKind::template_name:
            return templates();
        case ValueKind::experiment:
            return experiments();
        case ValueKind::trial:
            return trials(begun);
        case ValueKind::pool:
            return pools();
        case ValueKind::checkpoint:
            return checkpoints();
        case ValueKind::model:
            return models();
        case ValueKind::config_key:
            return config_keys(begun);
        case ValueKind::metric:
            return metrics(arguments);
        case ValueKind::file:
        case ValueKind::file_or_experiment:
            return {};
    }
    return {};
}

std::vector<Candidate> ExistingNames::templates() const {
    auto const store = experiment::TemplateStore::open(session_.environment);
    if (!store) return {};
    auto const files = store->list();
    std::vector<Candidate> names;
    if (!files) return names;
    for (auto const& file : *files) names.push_back({file.name, file.is_shipped() ? "shipped" : ""});
    return names;
}

std::vector<Candidate> ExistingNames::experiments() const {
    auto const root = experiment::find_root(session_.environment);
    if (!root) return {};
    auto const numbers = list_numeric_names(root->experiments());
    std::vector<Candidate> names;
    if (!numbers) return names;
    for (auto number = numbers->rbegin(); number != numbers->rend() && names.size() < names_max; ++number) {
        auto description = names.size() < described_max
                               ? name_of(ExperimentLayout(*root, ExperimentId{*number}))
                               : std::string();
        names.push_back({std::to_string(*number), std::move(description)});
    }
    return names;
}

std::vector<Candidate> ExistingNames::trials(std::string const& begun) const {
    auto const point = begun.find('.');
    if (point == std::string::npos) return experiments();
    auto const root = experiment::find_root(session_.environment);
    auto const id = parse_experiment_id(begun.substr(0, point));
    if (!root || !id) return {};
    std::vector<Candidate> names;
    auto const path = ExperimentLayout(root->for_reading(session_.places), *id).trials();
    for (auto const trial : list_numeric_names(path).value_or(std::vector<std::uint32_t>()))
        names.push_back({fmt::format("{}.{}", id->value, trial)});
    return names;
}

std::vector<Candidate> ExistingNames::checkpoints() const {
    auto const root = experiment::find_root(session_.environment);
    if (!root) return {};
    std::vector<Candidate> names;
    for (auto const& name : list_directory(root->checkpoints()).value_or(std::vector<std::string>())) {
        if (names.size() < names_max) names.push_back({name});
    }
    return names;
}

std::vector<Candidate> ExistingNames::models() const {
    auto const registry = experiment::load_models(session_);
    std::vector<Candidate> names;
    if (!registry) return names;
    for (auto const& model : registry->models)
        names.push_back({model.attributes.name, model.attributes.description});
    return names;
}

std::vector<Candidate> ExistingNames::metrics(std::vector<std::string> const& arguments) const {
    auto const root = experiment::find_root(session_.environment);
    if (!root) return {};
    std::vector<Candidate> names;
    for (auto const& name : find_metric_names(root->for_reading(session_.places), arguments))
        names.push_back({name});
    return names;
}

std::vector<Candidate> ExistingNames::pools() {
    auto const file = experiment::load_site_file(session_.environment);
    if (!file) return {};
    auto const site = experiment::load_site(*file, session_, experiment::Freshness::recent);
    std::vector<Candidate> names;
    if (!site) return names;
    for (auto const& pool : site->pools) names.push_back({pool.name, pool.description});
    return names;
}

}  // namespace det::cli
