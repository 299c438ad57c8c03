#include <det/config/key_effects.hpp>
#include <det/experiment/load_config.hpp>
#include <det/experiment/template_store.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "test_layers.hpp"

namespace det::experiment {
namespace {

/// The layers that the user wrote, the highest first. A layer that can't be read is left out and reported in
/// `found`.
struct Layers {
    std::vector<config::Layer> high_to_low;
    std::string written;
    std::string changes_written = {};
    std::optional<std::string> template_file;
    std::vector<yaml::Location> recorded = {};  // documents of an existing experiment
    Diagnostics found;
    bool all_read = true;  // if false, keys that seem missing are not reported

    void report_unread(Diagnostics problems) {
        found.append(std::move(problems));
        all_read = false;
    }

    void add_override(std::string const& assignment) {
        auto layer = config::parse_override(assignment);
        if (!layer) return report_unread(std::move(layer).error());
        high_to_low.push_back(*std::move(layer));
    }

    /// Parses and checks a document.
    void add_document(std::string const& text, std::string const& origin) {
        auto document = config::parse_layer(text, origin);
        if (!document) return report_unread(std::move(document).error());
        found.append(config::mask_secrets(config::check_sanity(*document), *document));
        high_to_low.push_back({*std::move(document), {}});
    }

    void add_file(std::filesystem::path const& file) { add_read(read_file(file, config_limit_bytes), file); }
    /// Adds a file of an existing experiment, which this user or root has written.
    void add_recorded(std::filesystem::path const& file) {
        add_read(read_trusted_file(file, config_limit_bytes), file);
    }

    void add_read(Result<std::string> text, std::filesystem::path const& file) {
        if (!text) return report_unread(std::move(text).error().while_doing("reading the configuration"));
        add_text(*std::move(text), file.string());
    }

    void add_text(std::string text, std::string const& origin) {
        written = std::move(text);
        add_document(written, origin);
    }

    /// Adds a file whose values replace the values of lower layers. The values of add_file, in contrast, are
    /// merged with them.
    void add_changes(std::filesystem::path const& file) {
        auto text = read_file(file, config_limit_bytes);
        if (!text) return report_unread(std::move(text).error().while_doing("reading the configuration"));
        auto document = config::parse_layer(*text, file.string());
        if (!document) return report_unread(std::move(document).error());
        found.append(config::mask_secrets(config::check_sanity(*document), *document));
        for (auto const& entry : document->entries()) add_change({}, entry);
        changes_written = *std::move(text);
    }

    /// Adds secrets.json. Its JSON is parsed as YAML.
    void add_secrets(std::filesystem::path const& file) {
        auto text = read_trusted_file(file, config_limit_bytes);
        if (!text) return report_unread(std::move(text).error().while_doing("reading the secrets"));
        add_document(*text, file.string());
    }

    /// Adds one layer for each KEY or SECTION.KEY. The value of SECTION.KEY (max_length, a hyperparameter)
    /// replaces the old one as a whole, also if it is a map.
    void add_change(std::vector<std::string> path, yaml::Node::Entry const& entry) {
        path.push_back(entry.key);
        if (path.size() == 1 && entry.value.is_map()) {
            for (auto const& below : entry.value.entries()) add_change(path, below);
            return;
        }
        high_to_low.push_back(config::replace_value(std::move(path), entry.value, entry.key_location));
    }

    void add_template(std::string const& name, TemplateStore const& store) {
        auto const found_template = store.load(name);
        if (!found_template) return report_unread(found_template.error());
        template_file = found_template->file.path.string();
        add_document(found_template->text, *template_file);
    }
};

Layers read_layers(ConfigSources const& sources, RootLayout const& root) {
    Layers layers;
    auto const& overrides = sources.overrides;
    for (auto last = overrides.rbegin(); last != overrides.rend(); ++last) layers.add_override(*last);
    if (sources.changes) layers.add_changes(*sources.changes);
    auto const above_record = layers.high_to_low.size();
    if (sources.secrets && path_exists(*sources.secrets)) layers.add_secrets(*sources.secrets);
    if (sources.text) {
        layers.add_text(*sources.text, sources.file.string());
    } else if (sources.secrets) {
        layers.add_recorded(sources.file);
    } else {
        layers.add_file(sources.file);
    }
    if (sources.secrets) {
        for (auto i = above_record; i < layers.high_to_low.size(); ++i)
            layers.recorded.push_back(layers.high_to_low[i].document.location());
    }
    if (sources.changes) layers.written = layers.changes_written;
    if (sources.template_name)
        layers.add_template(
            *sources.template_name,
            TemplateStore(root, sources.shared_template_directories,
                          sources.site != nullptr ? trust_rules(*sources.site) : TrustRules()));
    return layers;
}

/// Returns the lowest layer as YAML: defaults that depend on the file, the root and the time.
std::string base_layer(ConfigSources const& sources, RootLayout const& root, UtcTime now) {
    auto const quoted = [](std::string const& text) { return to_line(Json(text)); };
    return fmt::format(
        "name: {}\ncheckpoint_storage: {{type: shared_fs, host_path: {}}}\nreproducibility: "
        "{{experiment_seed: {}}}\n",
        quoted(sources.file.stem().string()), quoted(root.checkpoints().string()),
        now.microseconds / 1'000'000 % (std::int64_t{1} << 31));
}

using HighToLow = std::vector<config::Layer>;

HighToLow concatenate(HighToLow above, HighToLow const& below) {
    above.insert(above.end(), below.begin(), below.end());
    return above;
}

/// What the layers say about the pool. Ignores the layers of pools, because they are known only after the
/// pool.
site::PoolRequest find_pool_request(HighToLow const& written, config::SiteFile const& site) {
    constexpr config::PoolEntry const* no_pool = nullptr;
    auto const layers = concatenate(concatenate(config::site_invariants(site, no_pool), written),
                                    config::site_defaults(site, no_pool));
    std::vector<std::string> const name_path{"resources", "resource_pool"};
    std::vector<std::string> const slots_path{"resources", "slots_per_trial"};
    site::PoolRequest request;
    auto const* name = config::find_value(layers, name_path);
    if (name != nullptr && name->is_text()) request.name = *name->text();
    auto const* slots = config::find_value(layers, slots_path);
    if (slots != nullptr && slots->integer() != nullptr) request.slots_per_trial = *slots->integer();
    return request;
}

/// Finds the site file's entry for the pool of the experiment; nullptr if the site file has none.
config::PoolEntry const* find_pool(HighToLow const& written, config::SiteFile const& site,
                                   ConfigSources const& sources) {
    if (site.pools.empty()) return nullptr;
    auto const request = find_pool_request(written, site);
    auto pool = site::choose_pool(
        request, {site.default_compute_pool.value_or(""), site.default_aux_pool.value_or("")});
    if (pool.empty() && sources.find_default_pools)
        pool = site::choose_pool(request, sources.find_default_pools());
    return site.find_pool(pool);
}

/// Warns about each value of the user that an invariant of the site replaces. The other values of `merged`
/// are from the documents in `non_user_sources`.
void warn_overruled(yaml::Node const& demanded, yaml::Node const& merged, std::string const& path,
                    std::vector<yaml::Location> const& non_user_sources, Diagnostics& found) {
    for (auto const& entry : demanded.entries()) {
        auto const* said = merged.find(entry.key);
        auto const below = path.empty() ? entry.key : path + "." + entry.key;
        if (said != nullptr) warn_overruled(entry.value, *said, below, non_user_sources, found);
    }
    bool const says_otherwise = demanded.is_scalar() && !demanded.is_null() && merged.is_scalar() &&
                                !merged.is_null() && !(demanded == merged);
    bool const is_users =
        std::none_of(non_user_sources.begin(), non_user_sources.end(),
                     [&](auto const& document) { return merged.location().source == document.source; });
    if (!says_otherwise || !is_users) return;
    found.warn(Error{codes::bad_value, fmt::format("{}: an invariant of the site replaces this value", path),
                     fmt::format("see {}", demanded.location().text()), merged.location().span()});
}

/// Adds the site's layers and the defaults, merges all, and reads the result.
Result<config::ExperimentConfig, Diagnostics> complete(Layers const& layers, ConfigSources const& sources,
                                                       RootLayout const& root, UtcTime now,
                                                       Diagnostics& warnings) {
    DET_TRY_ASSIGN(auto const base, config::parse_layer(base_layer(sources, root, now), "defaults"));
    config::SiteFile const no_site;
    auto const& site = sources.site != nullptr ? *sources.site : no_site;
    auto const* pool = find_pool(layers.high_to_low, site, sources);
    config::LayerMerge merge;
    merge.add({{base}});
    merge.add(config::site_defaults(site, pool));
    merge.add(layers.high_to_low);
    auto const invariants = config::site_invariants(site, pool);
    auto non_user_sources = layers.recorded;
    non_user_sources.insert(non_user_sources.end(), {base.location(), site.document.location()});
    Diagnostics overruled;
    for (auto const& layer : invariants)
        warn_overruled(layer.document, merge.merged(), "", non_user_sources, overruled);
    warnings.append(config::mask_secrets(overruled, merge.merged()));
    merge.add(invariants);
    DET_TRY_ASSIGN(auto merged, std::move(merge).finish());
    auto config = config::read_experiment_config(merged);
    if (!config) return config::mask_secrets(config.error(), merged);
    auto const without_effect = config::find_keys_without_effect(config->effective, non_user_sources);
    warnings.append(config::mask_secrets(without_effect, merged));
    return config;
}

/// Adds the problems of the merged configuration, except those that were reported for a single document.
void append_news(Diagnostics& found, Diagnostics const& more) {
    auto const known = found.sorted();
    for (auto const& [severity, error] : more.sorted()) {
        bool const is_known = std::any_of(known.begin(), known.end(), [&, &news = error](auto const& old) {
            return old.error.code == news.code && old.error.where == news.where;
        });
        if (!is_known) found.report(error);
    }
}

}  // namespace

Result<MergedConfig, Diagnostics> merge_config(ConfigSources const& sources, RootLayout const& root) {
    auto layers = read_layers(sources, root);
    if (layers.found.has_errors()) return std::move(layers.found);
    DET_TRY_ASSIGN(auto merged, config::merge_layers(layers.high_to_low));
    // Checks the merged document, because add_override does not check the overrides.
    if (auto const problems = config::check_sanity(merged); problems.has_errors())
        return config::mask_secrets(problems, merged);
    layers.found.append(config::mask_secrets(config::find_keys_without_effect_in_part(merged), merged));
    return MergedConfig{std::move(merged), std::move(layers.written), std::move(layers.template_file),
                        std::move(layers.found)};
}

Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now) {
    auto layers = read_layers(sources, root);
    if (!layers.all_read) return std::move(layers.found);
    Diagnostics warnings;
    auto config = complete(layers, sources, root, now, warnings);
    if (config && sources.is_test) {
        layers.high_to_low = concatenate(test_layers(*config), layers.high_to_low);
        warnings = {};
        config = complete(layers, sources, root, now, warnings);
    }
    if (!config) {
        append_news(layers.found, config.error());
        return std::move(layers.found);
    }
    if (layers.found.has_errors()) return std::move(layers.found);
    layers.found.append(std::move(warnings));
    return LoadedConfig{*std::move(config), std::move(layers.written), std::move(layers.template_file),
                        std::move(layers.found)};
}

}  // namespace det::experiment
