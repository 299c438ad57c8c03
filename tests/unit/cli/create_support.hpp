#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <fstream>

#include "cli_support.hpp"

namespace det::cli {

/// A CliFixture with a configuration and a directory of code, from which tests create experiments.
struct CreateFixture : CliFixture {
    static std::string config_text() {
        return "name: example\nentrypoint: ./train\nsearcher: {name: single, metric: loss}\n"
               "resources: {slots_per_trial: 8}\n";
    }

    CreateFixture() {
        must(write_file(directory / "exp.yaml", config_text()));
        must(make_directory(directory / "code"));
        must(write_file(directory / "code/train", "echo training"));
    }
    int create(std::string const& options = "") {
        return run("experiment create " + (directory / "exp.yaml").string() + " " +
                   (directory / "code").string() + options);
    }
    ExperimentLayout experiment(std::uint32_t id) const { return {root, {id}}; }
};

}  // namespace det::cli
