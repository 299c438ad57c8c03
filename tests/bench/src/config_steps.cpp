// bench-config CONFIG TEMPLATE: compares the configuration steps of det-submit with yaml-cpp's Load of both
// texts.
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/foundation/files.hpp>
#include <det/yaml/render.hpp>

#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <yaml-cpp/yaml.h>

#include "row.hpp"

namespace {

using namespace det;

constexpr int pairs_count = 200;

/// Reads, checks, merges, completes and explains. Returns the length of the text that would be printed.
Result<std::size_t, Diagnostics> ours(std::string const& config, std::string const& below) {
    DET_TRY_ASSIGN(auto const high, config::parse_layer(config, "exp.yaml"));
    DET_TRY_ASSIGN(auto const low, config::parse_layer(below, "template.yaml"));
    for (auto const* layer : {&high, &low}) {
        if (auto problems = config::check_sanity(*layer); problems.has_errors()) return problems;
    }
    DET_TRY_ASSIGN(auto const merged, config::merge_layers({{high, {}}, {low, {}}}));
    DET_TRY_ASSIGN(auto const read, config::read_experiment_config(merged));
    return yaml::render_yaml(read.effective, [](yaml::Node const& value) { return value.location().text(); })
        .size();
}

std::size_t peer(std::string const& config, std::string const& below) {
    return YAML::Load(config).size() + YAML::Load(below).size();
}

template <class Work>
double time_s(Work work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Status run(std::string const& config_file, std::string const& template_file) {
    DET_TRY_ASSIGN(auto const config, read_file(config_file));
    DET_TRY_ASSIGN(auto const below, read_file(template_file));
    if (auto const first = ours(config, below); !first) {
        print(std::cerr, first.error(), {Colour::never, "bench-config"});
        return Error{codes::bad_value, "the configuration is not right"};
    }
    std::vector<bench::Pair> pairs(pairs_count);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto const time_ours = [&] { pairs[i].ours = time_s([&] { (void)ours(config, below); }); };
        auto const time_peer = [&] { pairs[i].peer = time_s([&] { (void)peer(config, below); }); };
        if (i % 2 == 0) time_ours();
        time_peer();
        if (i % 2 == 1) time_ours();
    }
    std::cout << render(bench::summarise("config", pairs, "s", bench::Better::lower)) << '\n';
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: bench-config CONFIG TEMPLATE\n";
        return to_int(ExitCode::usage);
    }
    auto const done = run(argv[1], argv[2]);
    if (done) return 0;
    print(std::cerr, done.error(), {Colour::never, "bench-config"});
    return to_int(done.error().code.exit);
}
