#include <det/config/key_effects.hpp>
#include <det/experiment/load_config.hpp>
#include <det/experiment/template_store.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

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
    std::optional<SubmittedScript> script = {};

    void report_unread(Diagnostics problems) {
        found.append(std::move(problems));
        all_read = false;
    }

    void add_override(std::string const& assignment) {
        auto layer = config::parse_override(assignment);
        if (!layer) return report_unread(std::move(layer).error());
        high_to_low.push_back(*std::move(layer));
    }

    /// Adds a batch script, whose header is the configuration.
    void add_script(std::string const& text, ConfigSources const& sources) {
        std::error_code failure;
        auto const directory = std::filesystem::current_path(failure);
        if (failure) return report_unread(os_error("find the working directory", failure.value()));
        auto const path = (directory / sources.file).lexically_normal();
        auto read = config::read_batch_script(text, {sources.file.string(), path, sources.script_arguments,
                                                     directory, sources.sbatch_variables});
        if (!read) return report_unread(std::move(read).error());
        found.append(std::move(read->warnings));
        written = fmt::format("# {} as a configuration\n{}", escape_control(sources.file.filename().string()),
                              yaml::render_yaml(read->layer));
        high_to_low.push_back({std::move(read->layer), {}});
        script = SubmittedScript{sources.file.string(), text, std::move(read->interpreter),
                                 sources.script_arguments, directory};
    }

    /// Parses and checks a document.
    void add_document(std::string const& text, std::string const& origin) {
        auto document = config::parse_layer(text, origin);
        if (!document) return report_unread(std::move(document).error());
        found.append(config::mask_secrets(config::check_sanity(*document), *document));
        high_to_low.push_back({*std::move(document), {}});
    }

    /// Adds the options of --config to the header of a batch script, as sbatch adds those of its command
    /// line. Without a script they replace the list.
    void keep_header() {
        std::vector<std::string> const options{"slurm", "sbatch_args"};
        std::vector<std::string> const script_path{"slurm", "batch_script"};
        if (config::find_value(high_to_low, script_path) == nullptr) return;
        for (auto& layer : high_to_low) {
            if (layer.replaces == options) layer.replaces.clear();
        }
    }

    /// Adds the file that the user names: a configuration, or a batch script.
    void add_file(ConfigSources const& sources) {
        auto text =
            sources.text ? Result<std::string>(*sources.text) : read_file(sources.file, config_limit_bytes);
        if (text && config::is_batch_script(*text)) return add_script(*text, sources);
        add_read(std::move(text), sources.file);
    }
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
    if (sources.secrets && !sources.text) {
        layers.add_recorded(sources.file);
    } else {
        layers.add_file(sources);
    }
    if (sources.secrets) {
        for (auto i = above_record; i < layers.high_to_low.size(); ++i)
            layers.recorded.push_back(layers.high_to_low[i].document.location());
    }
    layers.keep_header();
    if (sources.changes) layers.written = layers.changes_written;
    if (sources.template_name)
        layers.add_template(
            *sources.template_name,
            TemplateStore(root, sources.shared_template_directories,
                          sources.site != nullptr ? trust_rules(*sources.site) : TrustRules()));
    return layers;
}

/// Returns the lowest layer as YAML: defaults that depend on the file, the root and the time. max_restarts of
/// a batch script is 0, because sbatch does not run a failed script again.
std::string base_layer(ConfigSources const& sources, RootLayout const& root, UtcTime now, bool is_script) {
    auto const quoted = [](std::string const& text) { return to_line(Json(text)); };
    return fmt::format(
        "name: {}\ncheckpoint_storage: {{type: shared_fs, host_path: {}}}\nreproducibility: "
        "{{experiment_seed: {}}}\n{}",
        quoted(sources.file.stem().string()), quoted(root.checkpoints().string()),
        now.microseconds / 1'000'000 % (std::int64_t{1} << 31), is_script ? "max_restarts: 0\n" : "");
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
    auto const* most = slots != nullptr ? slots->find("max") : nullptr;
    if (most != nullptr && most->integer() != nullptr) request.slots_per_trial = *most->integer();
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
    DET_TRY_ASSIGN(
        auto const base,
        config::parse_layer(base_layer(sources, root, now, layers.script.has_value()), "defaults"));
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

/// Refuses what does not go with the batch script, or without one.
Diagnostics check_script(config::ExperimentConfig const& config, Layers const& layers,
                         ConfigSources const& sources) {
    Diagnostics found;
    auto const refuse = [&](std::string_view path, std::string message, std::string hint) {
        found.report(Error{codes::bad_value, std::move(message), std::move(hint), config.where(path)});
    };
    bool const has_script = !config.slurm.batch_script.empty();
    bool const is_recorded = sources.secrets.has_value();
    if (has_script && !layers.script && !is_recorded)
        refuse("slurm.batch_script", "slurm.batch_script is set by 'experiment create job.sbatch'",
               "remove it: 'slurm: {launch: script}' runs the entrypoint as a batch script");
    if (layers.script && (!has_script || config.slurm.launch != Launch::script))
        refuse("slurm.launch", "a batch script is launched as one",
               "leave slurm.launch and slurm.batch_script out");
    auto const where = config.where("entrypoint");
    bool const is_override = where && where->file == "--config";
    if (has_script && is_override)
        refuse("entrypoint", "the batch script is the entrypoint",
               "write the script's arguments after its name");
    return found;
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
    layers.found.append(check_script(*config, layers, sources));
    if (layers.found.has_errors()) return std::move(layers.found);
    layers.found.append(std::move(warnings));
    return LoadedConfig{*std::move(config), std::move(layers.written), std::move(layers.template_file),
                        std::move(layers.found), std::move(layers.script)};
}

}  // namespace det::experiment
