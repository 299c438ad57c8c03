#include "load_config.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>

#include <fmt/format.h>

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t config_limit_bytes = std::size_t{1} << 20;
constexpr std::string_view template_ending = ".yaml";

Diagnostics while_doing(Error error, std::string what) {
    return Diagnostics(std::move(error).while_doing(std::move(what)));
}

/// One document that a person wrote, parsed and checked by itself.
Result<yaml::Node, Diagnostics> load_layer(std::string const& text, std::string const& origin,
                                           Diagnostics& found) {
    auto layer = config::parse_layer(text, origin);
    if (layer) found.append(config::check_sanity(*layer));
    return layer;
}

/// The user's own before the shipped ones.
std::vector<fs::path> template_directories(RootLayout const& root) {
    return {root.templates(), shared_data() / "templates" / "config"};
}

Error no_such_template(std::string const& name, RootLayout const& root) {
    std::vector<std::string> known;
    for (auto const& directory : template_directories(root)) {
        for (auto const& file : list_directory(directory).value_or(std::vector<std::string>{})) {
            if (file.ends_with(template_ending))
                known.push_back(file.substr(0, file.size() - template_ending.size()));
        }
    }
    std::vector<std::string_view> const candidates(known.begin(), known.end());
    auto const near = nearest_word(name, candidates);
    return Error{
        codes::no_such_template, fmt::format("there is no template '{}'", name),
        near ? fmt::format("use '{}'", *near) : fmt::format("templates here: {}", join(known, ", "))};
}

struct TemplateText {
    std::string text, origin;
};

Result<TemplateText> read_template(std::string const& name, RootLayout const& root) {
    bool const plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
    for (auto const& directory : template_directories(root)) {
        if (!plain) break;
        auto const path = directory / (name + std::string(template_ending));
        auto text = read_file(path, config_limit_bytes);
        if (text) return TemplateText{*std::move(text), path.string()};
        if (text.error().code != codes::no_such_file) return std::move(text).error();
    }
    return no_such_template(name, root);
}

/// What only the one who creates an experiment knows: the lowest layer.
std::string base_layer(ConfigSources const& sources, RootLayout const& root, UtcTime now) {
    auto const quoted = [](std::string const& text) { return to_line(Json(text)); };
    return fmt::format(
        "name: {}\ncheckpoint_storage: {{type: shared_fs, host_path: {}}}\nreproducibility: "
        "{{experiment_seed: {}}}\n",
        quoted(sources.file.stem().string()), quoted(root.checkpoints().string()),
        now.microseconds / 1'000'000 % (std::int64_t{1} << 31));
}

}  // namespace

Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now) {
    Diagnostics found;
    std::vector<config::Layer> layers;  // the highest first
    for (auto assignment = sources.overrides.rbegin(); assignment != sources.overrides.rend(); ++assignment) {
        auto layer = config::parse_override(*assignment);
        if (layer) {
            layers.push_back(*std::move(layer));
        } else {
            found.report(std::move(layer).error());
        }
    }
    auto const written = read_file(sources.file, config_limit_bytes);
    if (!written) return while_doing(written.error(), "reading the configuration");
    auto config_layer = load_layer(*written, sources.file.string(), found);
    if (!config_layer) return std::move(config_layer).error();
    layers.push_back({*config_layer, {}});
    if (sources.template_name) {
        auto const text = read_template(*sources.template_name, root);
        if (!text) return Diagnostics(text.error());
        auto template_layer = load_layer(text->text, text->origin, found);
        if (!template_layer) return std::move(template_layer).error();
        layers.push_back({*template_layer, {}});
    }
    if (found.has_errors()) return found;
    auto const base = config::parse_layer(base_layer(sources, root, now), "defaults");
    if (!base) return base.error();
    layers.push_back({*base, {}});

    auto merged = config::merge_layers(layers);
    if (!merged) return std::move(merged).error();
    auto config = config::read_experiment_config(*merged);
    if (!config) return std::move(config).error();
    return LoadedConfig{*std::move(config), *written, std::move(found)};
}

}  // namespace det::cli
