// Fuzzes the configuration loader: arbitrary bytes as a configuration file and as a --config override,
// through every step up to ExperimentConfig and back to text.
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace det;

constexpr std::string_view template_text =
    "name: t\nlabels: [a]\nbind_mounts: [{host_path: /h, container_path: c}]\n"
    "hyperparameters: {x: {type: int, minval: 1, maxval: 9}, n: {y: 1}}\n"
    "searcher: {name: random, metric: loss, max_trials: 3}\n"
    "checkpoint_storage: {type: shared_fs, host_path: /ckpt}\nreproducibility: {experiment_seed: 1}\n";

void require(bool holds, char const* invariant) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", invariant);
    std::abort();
}

/// Rendering the errors must not fail.
void show(Diagnostics const& problems) { (void)problems.sorted(); }

void check_round_trip(yaml::Node const& document) {
    auto const text = yaml::render_yaml(document);
    auto const again = yaml::parse_document(text, "again");
    // The rendered text can be longer than the input and then exceed the size limit.
    if (!again) return require(text.size() > 4096, "rendered text can be parsed");
    require(*again == document, "parsing the rendered text gives the same document");
}

void check_layer(std::string_view text) {
    auto const written = config::parse_layer(text, "written.yaml");
    if (!written) return show(written.error());
    check_round_trip(*written);
    show(config::check_sanity(*written));
    static auto const below = config::parse_layer(template_text, "template");
    auto const merged = config::merge_layers({{*written, {}}, {*below, {}}});
    if (!merged) return show(merged.error());
    show(config::check_for_creation(*merged));
    auto const config = config::read_experiment_config(*merged);
    if (!config) return show(config.error());
    check_round_trip(config::mask_secrets(config->effective));
    auto const completed = config::add_defaults(config->effective);
    require(completed == config->effective, "adding defaults twice changes nothing");
}

void check_override(std::string_view text) {
    auto const layer = config::parse_override(text);
    if (!layer) return;
    static auto const below = config::parse_layer(template_text, "template");
    auto const merged = config::merge_layers({*layer, {*below, {}}});
    if (merged) show(config::check_for_creation(*merged));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check_layer(text);
    check_override(text);
    return 0;
}
