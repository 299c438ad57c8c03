// config show, check, schema and defaults, as people type them.
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace config_show_test {

struct Fixture : CliFixture {
    std::filesystem::path before = std::filesystem::current_path();
    Fixture() {
        std::filesystem::current_path(directory.path());
    }  // places are as people typed the file's name
    ~Fixture() { std::filesystem::current_path(before); }

    void write(std::string const& name, std::string const& text) const {
        must(write_file(directory / name, text));
    }
    void write_template(std::string const& name, std::string const& text) const {
        must(make_directories(root.templates()));
        must(write_file(root.templates() / (name + ".yaml"), text));
    }
    /// Replaces the random name of the fixture's directory in the text.
    std::string without_directory(std::string text) const {
        for (auto const path = directory.path().string() + "/"; text.find(path) != std::string::npos;)
            text.replace(text.find(path), path.size(), "/tmp/");
        return text;
    }
};

constexpr char complete[] = R"(name: digits
entrypoint: |
  python3 train.py
  echo done
labels: [mnist]
hyperparameters:
  lr: {type: const, val: 0.1}
searcher: {name: single, metric: loss}
checkpoint_storage:
  type: shared_fs
  host_path: /ckpt
environment:
  registry_auth: {username: me, password: hunter2}
data:
  secrets: {token: hunter3}
)";

constexpr char small_template[] = R"(# For small ones
labels: [small]
max_restarts: 1
environment:
  environment_variables: [A=1]
)";

}  // namespace config_show_test

BOOST_FIXTURE_TEST_SUITE(config_show_test, Fixture)

BOOST_AUTO_TEST_CASE(each_value_is_shown_with_its_origin) {
    write("exp.yaml", complete);
    write_template("small", small_template);
    BOOST_TEST(run("config show exp.yaml --template small --config slurm.mpi=pmix --config "
                   "environment.registry_auth.auth=hunter4 --explain") == 0);
    check_golden("cli/config_explain.txt", without_directory(out));
    BOOST_TEST(contains(err, "'environment.registry_auth' has no effect"), err);
    BOOST_TEST(!contains(err, "hunter"), err);
}

BOOST_AUTO_TEST_CASE(secrets_are_never_shown) {
    write("exp.yaml", complete);
    for (std::string const option : {"", " --explain", " --json", " --sanity", " --sanity --explain"}) {
        BOOST_TEST(run("config show exp.yaml --config environment.registry_auth.auth=hunter4" + option) == 0);
        BOOST_TEST(!contains(out, "hunter"), out);
        BOOST_TEST(contains(out, "********"), out);
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_file_reveals_no_secrets) {
    for (std::string const text :
         {"checkpoint_storage: {type: s3, secret_key: hunter2\n", "storage:\n  secret_key: \"hunter2\n",
          "environment:\n  registry_auth: {'password': [hunter2\n"}) {
        write("exp.yaml", text);
        BOOST_TEST(run("config check exp.yaml") == to_int(ExitCode::bad_file));
        BOOST_TEST(!contains(err, "hunter2"), err);
        BOOST_TEST(contains(err, "****"), err);
    }
    write("exp.yaml", complete);
    BOOST_TEST(run("config show exp.yaml --config environment.registry_auth.password=[hunter2") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(!contains(err, "hunter2"), err);
}

BOOST_AUTO_TEST_CASE(errors_reveal_no_secrets) {
    write("exp.yaml",
          "entrypoint: ./train\nsearcher: {name: single, metric: loss}\n"
          "environment: {registry_auth: {password: 31337, usr: me}}\n"
          "checkpoint_storage: {type: s3, bucket: b, secret_key: [hunter2]}\n");
    for (std::string const command :
         {"config check exp.yaml", "config show exp.yaml", "config show exp.yaml --sanity",
          "experiment create exp.yaml", "template set x exp.yaml", "config check exp.yaml --json"}) {
        BOOST_TEST(run(command) == to_int(ExitCode::bad_file), command);
        BOOST_TEST(!contains(out + err, "31337"), err);
        BOOST_TEST(!contains(out + err, "hunter2"), err);
    }
    BOOST_TEST(contains(err, "registry_auth.password must be a string, found a secret"), err);
    BOOST_TEST(contains(err, "{password: *****, usr: me}"), err);
    write("exp.yaml", complete);
    BOOST_TEST(run("config show exp.yaml --config environment.registry_auth.password=[hunter2]") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(!contains(err, "hunter2"), err);
}

BOOST_AUTO_TEST_CASE(the_shown_configuration_can_be_submitted_with_the_same_result) {
    write("exp.yaml", "entrypoint: ./train\nsearcher: {name: single, metric: loss}\n");
    auto const first = ask("config show exp.yaml --config max_restarts=2");
    BOOST_TEST(first["max_restarts"] == 2);
    BOOST_TEST(run("config show exp.yaml --config max_restarts=2 --complete") == 0);
    write("again.yaml", out);
    BOOST_TEST(ask("config show again.yaml") == first);
    BOOST_TEST(run("config show exp.yaml --config max_restarts=2 --explain") == 0);
    write("again.yaml", out);
    BOOST_TEST(ask("config show again.yaml") == first);
}

BOOST_AUTO_TEST_CASE(a_partial_configuration_is_shown_as_written) {
    write("part.yaml", "resources: {slots_per_trial: 2}\n");
    BOOST_TEST(run("config show part.yaml --sanity") == 0);
    BOOST_TEST(out == "resources:\n  slots_per_trial: 2\n");
    BOOST_TEST(run("config show part.yaml") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "'searcher' is missing"), err);
    BOOST_TEST(out == "");
    BOOST_TEST(run("config show part.yaml --sanity --complete") == to_int(ExitCode::usage));
    BOOST_TEST(run("config show part.yaml --sanity --config resources.slot_per_trial=2") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(run("config show absent.yaml") == to_int(ExitCode::absent));
    BOOST_TEST(run("config show part.yaml --template absent") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(config_check_reports_all_errors_of_all_files) {
    write("a.yaml", "entrypoint: ./train\nnonsense: 1\n");
    write("b.yaml",
          "entrypoint: ./train\nsearcher: {name: random, metric: loss, max_trials: 2}\n"
          "checkpoint_storage: {type: gcs, bucket: b}\nhyperparameters: {lr: {type: double, minval: 0, "
          "maxval: 1}}\n"
          "slurm: {sbatch_args: ['--nod=4', --time=10]}\n");
    write("c.yaml", "entrypoint: ./train\nsearcher: {name: single, metric: loss}\n");
    write_template("small", "labels: [small]\nmax_restarts: many\n");
    BOOST_TEST(run("config check c.yaml b.yaml a.yaml --template small") == to_int(ExitCode::bad_file));
    BOOST_TEST(out == "");
    check_golden("cli/config_check.txt", without_directory(err));
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_CASE(config_check_refuses_a_configuration_that_no_site_can_run) {
    write("b.yaml",
          "entrypoint: ./train\nsearcher: {name: single, metric: loss}\n"
          "checkpoint_storage: {type: gcs, bucket: b}\n");
    BOOST_TEST(run("config check b.yaml") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "b.yaml:3:28: error: checkpoint storage 'gcs'"), err);
    BOOST_TEST(run("config check --sanity b.yaml") == 0);
}

BOOST_AUTO_TEST_CASE(config_check_warns_of_a_batch_script_as_entrypoint) {
    must(make_directories(directory / "bin"));
    write("bin/train.sbatch",
          "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\n# srun is below\n"
          "time  /usr/bin/srun python train.py\nmpirun -np 4 train\n");
    write("train.py", "# calls srun\n");
    auto const check = [&](std::string const& entrypoint) {
        write("a.yaml",
              "entrypoint: " + entrypoint + "\nsearcher: {name: single, metric: loss, max_length: 1}\n");
        BOOST_TEST(run("config check a.yaml") == 0, err);
        return without_directory(err);
    };
    auto const warned = check("bash bin/train.sbatch --fast");
    BOOST_TEST(
        contains(warned, "bin/train.sbatch:2:1: warning: the #SBATCH lines of an entrypoint are not read"),
        warned);
    BOOST_TEST(contains(warned, "bin/train.sbatch:5:7: warning: '/usr/bin/srun' in the entrypoint"), warned);
    BOOST_TEST(!contains(warned, "mpirun"), warned);
    BOOST_TEST(contains(check("[./bin/train.sbatch]"), "train.sbatch:5:7: warning"));
    BOOST_TEST(contains(check("srun python train.py"), "warning: 'srun' in the entrypoint"));
    BOOST_TEST(!contains(check("python train.py"), "srun"));
    BOOST_TEST(!contains(check("det-launch torch_distributed -- python train.py"), "srun"));
}

BOOST_AUTO_TEST_CASE(config_check_of_a_part_checks_only_the_written_values) {
    write("part.yaml", "resources: {slots_per_trial: 2}\n");
    write("bad.yaml", "resources: {slot_per_trial: 2}\n");
    BOOST_TEST(run("config check part.yaml --sanity") == 0);
    BOOST_TEST(out == "part.yaml: ok\n");
    BOOST_TEST(run("config check part.yaml bad.yaml --sanity") == to_int(ExitCode::bad_file));
    BOOST_TEST(out == "part.yaml: ok\n");
    BOOST_TEST(contains(err, "use 'slots_per_trial'"), err);
    BOOST_TEST(run("config check absent.yaml part.yaml --sanity") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(schema_and_defaults_are_printed) {
    BOOST_TEST(ask("config schema")["properties"].contains("slurm"));
    BOOST_TEST(ask("config schema --complete")["required"].size() > 2u);
    BOOST_TEST(ask("config defaults")["max_restarts"] == 5);
    BOOST_TEST(run("config defaults") == 0);
    BOOST_TEST(contains(out, "\nmax_restarts: 5 "), out);
}

BOOST_AUTO_TEST_SUITE_END()
