// The creation protocol: the calls to Slurm, and the files during and after it.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/experiment/code_permissions.hpp>
#include <det/experiment/create_experiment.hpp>
#include <det/experiment/find_start_times.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/bad_nodes.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fmt/format.h>
#include <grp.h>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "cli_support.hpp"
#include "create_support.hpp"
#include "local_time_zone.hpp"
#include "output/table.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

BOOST_FIXTURE_TEST_SUITE(create_experiment_test, CreateFixture)

BOOST_AUTO_TEST_CASE(a_local_test_needs_a_trial_class) {
    BOOST_TEST(run("experiment create absent.yaml . --local") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "--local needs --test"), err);
    BOOST_TEST(create(" --local --test --dry-run") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "--local --test takes"), err);
    BOOST_TEST(create(" --local --test") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "the entrypoint is a program"), err);
    BOOST_TEST(contains(err, "start the program by itself"), err);
    BOOST_TEST(create(" --local --test --config entrypoint=model_def:MyTrial --config searcher.name=gird") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "gird"), err);
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_CASE(the_job_is_tested_submitted_held_and_then_released) {
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(out == "Created experiment 1\n");
    BOOST_TEST(
        slurm.calls == (std::vector<std::string>{"partitions", "config", "test", "submit", "release 4711"}),
        boost::test_tools::per_element());
    auto const& submit = slurm.submissions.at(1);
    BOOST_TEST(submit.options.at(0) == "--hold");
    BOOST_TEST(submit.script == experiment(1).script());
    BOOST_TEST((submit.environment == environment));
    // The test submission has no --hold; all its other options are those of the submission.
    auto const tested = slurm.submissions.at(0).options;
    BOOST_TEST(tested.size() + 1 == submit.options.size());
    BOOST_TEST(tested.at(0) == submit.options.at(1));
}

BOOST_AUTO_TEST_CASE(the_configuration_can_come_from_standard_input) {
    piped = config_text() + "labels: [piped]\n";
    BOOST_TEST(run("experiment create - " + (directory / "code").string()) == 0, err);
    BOOST_TEST(must(read_file(experiment(1).path() / "submitted.yaml")) == *piped);
    piped = "name: x\nentrypont: y\n";
    BOOST_TEST(run("experiment create -") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "stdin:2:1: error: unknown key 'entrypont'"), err);
    BOOST_TEST(run("config check --sanity -") == to_int(ExitCode::bad_file));
    piped = std::string(config_limit_bytes + 1, '#');
    BOOST_TEST(run("config show -") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "standard input has more than 1048576 bytes"), err);
    piped = std::string(config_limit_bytes, '#');
    BOOST_TEST(run("config show --sanity -") == 0, err);
}

BOOST_AUTO_TEST_CASE(options_of_determined_that_have_no_effect_are_accepted_with_a_warning) {
    BOOST_TEST(create(" -p 8080 -p 8081 --project_id 3") == 0, err);
    BOOST_TEST(contains(err, "warning: --publish has no effect"), err);
    BOOST_TEST(contains(err, "warning: --project_id has no effect"), err);
}

BOOST_AUTO_TEST_CASE(a_trial_that_the_limits_of_the_account_never_admit_is_a_warning) {
    slurm.config = slurm::ClusterConfig(
        slurm::ClusterConfig::Settings{{"AccountingStorageType", "accounting_storage/slurmdbd"},
                                       {"AccountingStorageEnforce", "associations,limits,qos"},
                                       {"ClusterName", "test"}});
    auto const user = user_name(environment);
    auto const limit = [&](std::int64_t gpus) {
        slurm::Association alice{"ml", user, "", "", {}, "", {}};
        alice.limits.group["gres/gpu"] = gpus;
        slurm.accounting.associations = {alice};
        slurm.accounting.default_account = "ml";
    };
    limit(8);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(!contains(err, "never starts"), err);
    limit(7);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "a trial holds 8 gres/gpu, and user '" + user +
                                 "' in account 'ml' has GrpTRES=gres/gpu=7: "
                                 "Slurm never starts it"),
               err);
    environment.set("SBATCH_ACCOUNT", "other");
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(!contains(err, "never starts"), err);
    slurm.refused = {"accounting"};
    BOOST_TEST(create() == 0, err);
}

BOOST_AUTO_TEST_CASE(when_lists_the_starts_of_several_sizes_and_submits_nothing) {
    slurm.partition_list.push_back(
        {"other", false, true, "OFF", std::chrono::seconds(0), {{8, 8, "idle", "gpu:4"}}, {}, "12:00:00"});
    slurm.on_call = [this](std::string const& call) {
        if (call != "test") return;
        auto const& options = slurm.submissions.back().options;
        auto const text = must(read_file(slurm.submissions.back().script));
        bool const is_large = contains(text, "--nodes=4");
        bool const is_short = !options.empty() && options.back() == "--time=60";
        slurm.test_answer =
            fmt::format("sbatch: Job 5 to start at 2026-11-{}T12:00:00 using 8 processors", is_large   ? 23
                                                                                            : is_short ? 21
                                                                                                       : 22);
    };
    auto const answer = ask("experiment create --when " + (directory / "exp.yaml").string());
    BOOST_TEST(slurm.submissions.size() <= start_probes_max);
    for (auto const& call : slurm.calls)
        BOOST_TEST((call == "partitions" || call == "config" || call == "test"), call);
    BOOST_TEST(!path_exists(root.path()));
    BOOST_REQUIRE(answer.size() > 3u);
    std::string last;
    std::set<std::string> pools;
    for (auto const& row : answer) {
        BOOST_TEST(last <= row["start"].get<std::string>());
        last = row["start"];
        pools.insert(row["resource_pool"]);
        if (row["resource_pool"] == "other") BOOST_TEST(row["time_limit_s"] <= 12 * 3600);
    }
    BOOST_TEST(pools.size() == 2u);
    BOOST_TEST(answer[0]["time_limit_s"] == 3600);
    BOOST_TEST(answer[0]["slots"] == 32);  // the largest size that starts at that time
    BOOST_TEST(answer.back()["nodes"] == 4);
}

BOOST_AUTO_TEST_CASE(when_leaves_out_what_slurm_refuses_and_reports_errors_of_the_configuration) {
    int asked = 0;
    slurm.on_call = [&](std::string const& call) {
        if (call == "test" && ++asked == 2) slurm.refused = {"test"};
    };
    BOOST_TEST(ask("experiment create --when " + (directory / "exp.yaml").string()).empty());
    slurm.refused = {"test"};
    BOOST_TEST(run("experiment create --when " + (directory / "exp.yaml").string()) ==
               to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(run("experiment create --when --config resources.slots_per_trial=3.5 " +
                   (directory / "exp.yaml").string()) == to_int(ExitCode::bad_file));
}

BOOST_AUTO_TEST_CASE(slurm_tests_the_script_before_the_experiment_has_a_number) {
    bool asked = false;
    slurm.on_call = [&](std::string const& call) {
        if (call != "test") return;
        asked = true;
        BOOST_TEST(!path_exists(experiment(1).path()));  // its files are written meanwhile
        std::ifstream script(slurm.submissions.at(0).script);
        std::string first;
        BOOST_TEST(static_cast<bool>(std::getline(script, first)));
        BOOST_TEST(first.starts_with("#!"));
    };
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked);
}

BOOST_AUTO_TEST_CASE(files_are_written_before_submission_and_the_job_id_before_release) {
    slurm.on_call = [&](std::string const& call) {
        if (call == "submit") {
            BOOST_TEST(must(parse_spec(must(read_file(experiment(1).spec())))).id.value == 1u);
            BOOST_TEST((must(journal::load_desired(experiment(1).desired())) == DesiredState::run));
            BOOST_TEST(path_exists(experiment(1).script()));
            BOOST_TEST(must(journal::load_events(experiment(1).events())).empty());
        }
        if (call.starts_with("release"))
            BOOST_TEST(must(journal::load_events(experiment(1).events())).size() == 1u);
    };
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(slurm.calls.size() == 5u);
}

BOOST_AUTO_TEST_CASE(an_experiment_has_these_files) {
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(must(list_directory(experiment(1).path())) ==
                   (std::vector<std::string>{"config.yaml", "events", "script.sbatch", "spec.json",
                                             "submitted.yaml", "trials"}),
               boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(experiment(1).events())) == std::vector<std::string>{"1-created.json"},
               boost::test_tools::per_element());
    auto const event = must(journal::load_events(experiment(1).events())).at(0);
    BOOST_TEST(event.kind == "created");
    BOOST_TEST(event.body == (Json{{"arrays",
                                    {{{"job_id", "4711"},
                                      {"first_trial", 0},
                                      {"trial_count", 1},
                                      {"lanes", 1},
                                      {"running_max", 1}}}}}));
    BOOST_TEST(must(read_file(experiment(1).submitted())) == must(read_file(directory / "exp.yaml")));
    BOOST_TEST(contains(must(read_file(experiment(1).config())), "max_restarts: 5"));  // defaults filled in
}

BOOST_AUTO_TEST_CASE(the_spec_has_what_jobs_need) {
    must(write_file(directory / "exp.yaml", config_text() + "hyperparameters: {lr: 0.1}\nmax_restarts: 3\n"));
    BOOST_TEST(create() == 0, err);
    auto const spec = must(parse_spec(must(read_file(experiment(1).spec()))));
    BOOST_TEST(spec.name == "example");
    BOOST_TEST(spec.root == root.path().string());
    BOOST_TEST((spec.shape == TrialShape{2, 4, SlotType::cuda}));
    BOOST_TEST(spec.entrypoint == (std::vector<std::string>{"bash", "-c", "./train"}),
               boost::test_tools::per_element());
    BOOST_TEST(spec.checkpoint_path == root.checkpoints().string());
    BOOST_TEST(spec.max_restarts == 3u);
    BOOST_TEST(spec.hyperparameters->at("lr") == 0.1);
    BOOST_TEST(spec.context.value().sha256 + ".tar.zst" == must(list_directory(root.contexts())).at(0));
}

BOOST_AUTO_TEST_CASE(the_next_id_is_above_all_existing_ones) {
    for (auto const* name : {"9", "41", "notes", "0"}) must(make_directories(root.experiments() / name));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(out == "Created experiment 42\n");
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(out == "Created experiment 43\n");
}

BOOST_AUTO_TEST_CASE(a_number_that_another_creation_takes_meanwhile_is_left_to_it) {
    slurm.on_call = [&](std::string const& call) {
        if (call != "test") return;
        auto const is_staged = [&] {
            auto const names = must(list_directory(root.experiments()));
            return !names.empty() && path_exists(root.experiments() / names.front() / "spec.json");
        };
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!is_staged() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        BOOST_TEST(is_staged());
        must(make_directories(experiment(1).path()));
    };
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(out == "Created experiment 2\n");
    BOOST_TEST(must(list_directory(root.experiments())) == (std::vector<std::string>{"1", "2"}),
               boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(experiment(1).path())).empty());
    BOOST_TEST(must(parse_spec(must(read_file(experiment(2).spec())))).id.value == 2u);
    BOOST_TEST(contains(must(read_file(experiment(2).script())), experiment(2).path().string()));
    BOOST_TEST(slurm.submissions.back().script == experiment(2).script());
}

BOOST_AUTO_TEST_CASE(files_of_a_killed_creation_are_removed_a_day_later) {
    auto const old = root.experiments() / ".new-0123456789abcdef";
    auto const young = root.experiments() / ".new-fedcba9876543210";
    for (auto const& path : {old, young}) must(make_directories(path / "trials"));
    std::filesystem::last_write_time(old,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
    std::filesystem::last_write_time(young,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(23));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(must(list_directory(root.experiments())) ==
                   (std::vector<std::string>{young.filename().string(), "1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_same_code_is_stored_once) {
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(must(list_directory(root.contexts())).size() == 1u);
    auto const context_of = [this](std::uint32_t id) {
        return must(parse_spec(must(read_file(experiment(id).spec())))).context.value().sha256;
    };
    BOOST_TEST(context_of(1) == context_of(2));
    must(write_file(directory / "code/train", "other"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(must(list_directory(root.contexts())).size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_a_context_nothing_is_packed) {
    BOOST_TEST(
        run("experiment create " + (directory / "exp.yaml").string() + " --config entrypoint=train") == 0,
        err);
    BOOST_TEST(!contains(err, "code:"), err);
    BOOST_TEST(!path_exists(root.contexts()));
    BOOST_TEST(!must(parse_spec(must(read_file(experiment(1).spec())))).context.has_value());
}

BOOST_AUTO_TEST_CASE(experiments_are_private_to_their_user) {
    auto const old = ::umask(0);
    auto const code = create();
    ::umask(old);
    BOOST_TEST(code == 0, err);
    for (auto const& entry : std::filesystem::recursive_directory_iterator(root.path())) {
        auto const others = entry.status().permissions() & static_cast<std::filesystem::perms>(077);
        BOOST_TEST((others == std::filesystem::perms::none), entry.path());
    }
}

BOOST_AUTO_TEST_CASE(secrets_stay_in_the_file_that_the_user_wrote) {
    must(write_file(directory / "exp.yaml", config_text() + "data: {secrets: {token: hunter2}}\n"));
    BOOST_TEST(create() == 0, err);
    for (auto const& file : {experiment(1).spec(), experiment(1).config(), experiment(1).script()})
        BOOST_TEST(!contains(must(read_file(file)), "hunter2"), file);
    for (auto const& option : slurm.submissions.at(1).options) BOOST_TEST(!contains(option, "hunter2"));
}

BOOST_AUTO_TEST_CASE(a_dry_run_prints_the_script_and_submits_nothing) {
    BOOST_TEST(create(" --dry-run") == 0, err);
    BOOST_TEST(out.starts_with("#!"));
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"partitions", "config", "test"}),
               boost::test_tools::per_element());
    BOOST_TEST(!path_exists(root.path()));
    BOOST_TEST(create(" --dry-run --json") == 0, err);
    BOOST_TEST(parse_json(out)["script"].get<std::string>().starts_with("#!"));
}

BOOST_AUTO_TEST_CASE(a_dry_run_refuses_what_creation_refuses) {
    struct Row {
        std::string options;
        ExitCode code;
    };
    must(write_file(directory / "code/large", ""));
    std::filesystem::resize_file(directory / "code/large", 96 << 20);
    must(make_directory(directory / "open"));
    std::filesystem::permissions(directory / "open", std::filesystem::perms(0777));
    for (auto const& [options, code] :
         {Row{"", ExitCode::bad_file}, Row{" --config entrypoint=./tarin", ExitCode::bad_file},
          Row{" -i " + (directory / "absent").string(), ExitCode::absent}}) {
        BOOST_TEST(create(options) == to_int(code), options << err);
        auto const said = err;
        BOOST_TEST(create(options + " --dry-run") == to_int(code), options << err);
        BOOST_TEST(err == said);
    }
    must(write_file(directory / "code/.detignore", "large\n"));
    auto const storage =
        " --config checkpoint_storage.host_path=" + (directory / "open/checkpoints").string();
    auto const absent = " --config entrypoint=./tarin";
    slurm.refused = {"test"};
    for (auto const& options : {std::string(), storage, std::string(absent)}) {
        auto const code = create(options);
        auto const said = err;
        BOOST_TEST(code != 0, options);
        BOOST_TEST(create(options + " --dry-run") == code, options);
        BOOST_TEST(err == said);
    }
    slurm.refused.clear();
    auto const code = create(storage);
    BOOST_TEST(code != 0);
    BOOST_TEST(create(storage + " --dry-run") == code, err);
}

BOOST_AUTO_TEST_CASE(an_entrypoint_whose_file_is_certainly_not_there_is_refused) {
    must(make_directory(directory / "code/src"));
    must(make_directory(directory / "code/node_modules"));
    for (auto const* file : {"train.py", "src/model.py", "prog", "node_modules/x.py"})
        must(write_file(directory / "code" / file, ""));
    std::filesystem::create_directory_symlink("src", directory / "code/link");
    auto const create_with = [&](std::string const& entrypoint, std::vector<std::string> more = {}) {
        std::vector<std::string> words{"experiment", "create", (directory / "exp.yaml").string(),
                                       (directory / "code").string(), "--config=entrypoint=" + entrypoint};
        for (auto& each : more) words.push_back("--config=" + each);
        return run(words);
    };
    for (auto const* refused :
         {"python3 tarin.py", "python3 -u tarin.py --lr 0.1", "./tarin.py", "src/nodel.py", "bash ./run.sh",
          "FLAG=1 exec /usr/bin/python3.11 tarin.py", "det-launch python3 tarin.py", "det-launch ./prgo",
          "det-launch torch_distributed --nnodes=1 -- python3 tarin.py $LR",
          "torchrun --nproc_per_node 4 tarin.py", "python3 -m torch.distributed.run --nnodes 1 tarin.py",
          "python3 tarin.py && echo done", "[python3, -X, dev, tarin.py]", "[bash, -c, 'python3 tarin.py']",
          "sh -c 'python3 tarin.py'", "'\"./my prog\"'"})
        BOOST_TEST(create_with(refused) == to_int(ExitCode::absent), refused << "\n" << err);
    for (auto const* accepted : {"python3 train.py",
                                 "python3 ./src/model.py",
                                 "./prog",
                                 "python3 link/model.py",
                                 "python3 link/any.py",
                                 "python3 -m tarin",
                                 "python3 -c pass tarin.py",
                                 "python3 $SCRIPT",
                                 "python3 ${DIR}/tarin.py",
                                 "python3 /opt/tarin.py",
                                 "tarin.py",
                                 "cd src && python3 model.py",
                                 "python3 tarin.py || python3 train.py",
                                 "source env.sh; python3 tarin.py",
                                 "cp train.py tarin.py && python3 tarin.py",
                                 "python3 ../tarin.py",
                                 "torchrun -m tarin",
                                 "det-launch tarin",
                                 "det-launch python3 -m tarin",
                                 "python3 --unknown tarin.py",
                                 "bash -l tarin.sh",
                                 "if true; then python3 tarin.py; fi",
                                 "python3 t*.py",
                                 "python3 .",
                                 "(cd src && python3 nodel.py)",
                                 "model_def:Trial",
                                 "srun python3 tarin.py",
                                 "accelerate launch train.py"})
        BOOST_TEST(create_with(accepted) == 0, accepted << "\n" << err);
    BOOST_TEST(
        create_with("python3 tarin.py", {"slurm.setup=[module load cuda, source ~/venv/bin/activate, 'export "
                                         "PATH=$HOME/bin:$PATH']"}) == to_int(ExitCode::absent));
    for (auto const* setup : {"cd src", "source env.sh", "make tarin.py", "export A=1; cd src", "pushd src"})
        BOOST_TEST(create_with("python3 tarin.py", {"slurm.setup=['" + std::string(setup) + "']"}) == 0,
                   setup);
    must(write_file(directory / "code/startup-hook.sh", "touch tarin.py"));
    BOOST_TEST(create_with("python3 tarin.py") == 0, err);
}

BOOST_AUTO_TEST_CASE(a_refused_entrypoint_has_a_place_and_the_nearest_name) {
    must(make_directory(directory / "code/src"));
    must(make_directory(directory / "code/wandb"));
    for (auto const* file : {"train.py", "src/model.py", "wandb/run.py"})
        must(write_file(directory / "code" / file, ""));
    auto const refused = [&](std::string const& entrypoint) {
        must(write_file(directory / "exp.yaml", config_text() + "description: x\n"));
        auto text = must(read_file(directory / "exp.yaml"));
        text.replace(text.find("./train\n"), 7, entrypoint);
        must(write_file(directory / "exp.yaml", text));
        BOOST_TEST(create() == to_int(ExitCode::absent), err);
        return err;
    };
    auto const said = refused("python3 trian.py");
    BOOST_TEST(contains(said,
                        "exp.yaml:2:13: error: the entrypoint starts 'trian.py', which is not in the code "
                        "[no-such-file]"),
               said);
    BOOST_TEST(contains(said, "hint: use 'train.py'"), said);
    BOOST_TEST(contains(refused("python3 model.py"), "hint: use 'src/model.py'"), err);
    BOOST_TEST(contains(refused("python3 wandb/run.py"),
                        "'wandb' is left out of the code: the line '!wandb' in .detignore brings it back"),
               err);
    must(write_file(directory / "code/.detignore", "!wandb\n"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string()) == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "the entrypoint starts 'wandb/run.py', and no code is given"), err);
    BOOST_TEST(contains(err, "hint: give the directory of the code after the configuration"), err);
    must(write_file(directory / "train", ""));
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string() +
                   " --config entrypoint=./train") == to_int(ExitCode::absent));
    must(write_file(directory / "exp.yaml", config_text()));
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string()) == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "'" + directory.path().string() + "' has 'train'"), err);
}

BOOST_AUTO_TEST_CASE(a_misspelled_launcher_is_refused_and_a_program_is_not) {
    auto const create_with_entrypoint = [&](std::string const& entrypoint) {
        auto text = config_text();
        text.replace(text.find("./train\n"), 7, "'" + entrypoint + "'");
        must(write_file(directory / "exp.yaml", text));
        return create();
    };
    for (auto const* entrypoint : {"det-launch jx python3 train", "det-launch jx -- ./train",
                                   "OMP_NUM_THREADS=1 exec det-launch jx --trial model_def:MyTrial"}) {
        BOOST_TEST(create_with_entrypoint(entrypoint) == to_int(ExitCode::bad_file), entrypoint);
        BOOST_TEST(contains(err, "exp.yaml:2:13: error: det-launch has no launcher 'jx' [bad-value]"), err);
        BOOST_TEST(contains(err, "hint: use 'jax'"), err);
    }
    BOOST_TEST(create_with_entrypoint("det-launch ray_cluster -- ./train") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "hint: launchers: torch_distributed, horovod, deepspeed, mpi, tensorflow, jax"),
               err);
    for (auto const* entrypoint : {"det-launch jax ./train", "det-launch numactl -l ./train",
                                   "det-launch java train", "det-launch --help", "det-launch ./train -- x"})
        BOOST_TEST(create_with_entrypoint(entrypoint) == 0, entrypoint << ": " << err);
}

BOOST_AUTO_TEST_CASE(packing_says_how_much_and_what_was_left_out) {
    for (auto const* each : {"a/__pycache__", "b/__pycache__", ".venv", "wandb", "mlruns", "node_modules",
                             ".ipynb_checkpoints", "data"}) {
        std::filesystem::create_directories(directory / "code" / each);
        must(write_file(directory / "code" / each / "file", "123"));
    }
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err,
                        "code: 2 files, 16 B; left out: .ipynb_checkpoints, .venv, 2 __pycache__, mlruns, "
                        "node_modules, wandb\n"),
               err);
    must(write_file(directory / "code/.detignore", "!.venv\n!wandb\ndata\n"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "left out: .ipynb_checkpoints, 2 __pycache__, data, mlruns, node_modules\n"),
               err);
    BOOST_TEST(must(parse_spec(must(read_file(experiment(2).spec())))).context.value().size_bytes ==
               13u + 19u + 3u + 3u);
}

BOOST_AUTO_TEST_CASE(answers_of_slurm_are_cached_for_a_minute) {
    cache = directory / "cache";
    auto const asked = [this] { return std::count(slurm.calls.begin(), slurm.calls.end(), "partitions"); };
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked() == 1);
    clock.sleep_for(std::chrono::seconds(61));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked() == 2);
    // If a trial does not fit the cached facts, Slurm is queried again: it may fit now.
    slurm.partition_list[0].nodes[0].count = 8;
    BOOST_TEST(create(" --config resources.slots_per_trial=32") == 0, err);
    BOOST_TEST(asked() == 3);
    // A cache file that is not JSON is ignored, and so is one that another user could have written.
    must(write_file(cache / "partitions.json", "nonsense"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked() == 4);
    std::filesystem::permissions(cache, std::filesystem::perms::all);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked() == 5);
}

BOOST_AUTO_TEST_CASE(idle_slots_are_warned_of_in_one_line_once_a_day_for_each_pool) {
    cache = directory / "cache";
    LocalTimeZone const two_hours_east("XYZ-2");
    auto const warnings = [&](std::string const& options = "") {
        BOOST_TEST(create(" --config resources.slots_per_trial=1" + options) == 0, err);
        std::size_t count = 0;
        for (auto const line : split_lines(err)) count += contains(line, "jobs get whole nodes") ? 1 : 0;
        return count;
    };
    slurm.partition_list[0].is_default = true;
    slurm.partition_list.push_back(
        {"other", false, true, "REQUEUE", std::chrono::seconds(30), {{4, 8, "idle", "gpu:4"}}});
    BOOST_TEST(warnings() == 1u, err);
    BOOST_TEST(contains(err,
                        "det-submit: warning: a trial asks for 1 slot, and its job holds 4: jobs get whole "
                        "nodes; 'slurm: {exclusive: false}' holds only what it asks for [idle-slots]\n"),
               err);
    BOOST_TEST(!contains(err, "hint: "), err);
    BOOST_TEST(warnings() == 0u, err);
    BOOST_TEST(warnings(" --config resources.resource_pool=other") == 1u, err);
    BOOST_TEST(warnings(" --config resources.resource_pool=other") == 0u, err);
    clock.sleep_for(std::chrono::hours(10) -
                    std::chrono::seconds(1));  // from 14:00 to 23:59:59 in local time
    BOOST_TEST(warnings() == 0u, err);
    clock.sleep_for(std::chrono::seconds(1));
    BOOST_TEST(warnings() == 1u, err);
    BOOST_TEST(warnings() == 0u, err);
    // What does not remember the day is no error: the warning stays.
    for (auto const* damaged : {"nonsense", "[]", "{\"compute\": 7}"}) {
        must(write_file(cache / "idle-slots-warned.json", damaged));
        BOOST_TEST(warnings() == 1u, err);
        BOOST_TEST(warnings() == 0u, err);
    }
    std::filesystem::permissions(cache, std::filesystem::perms::all);  // others may write it
    BOOST_TEST(warnings() == 1u, err);
    BOOST_TEST(warnings() == 1u, err);
    must(write_file(directory / "file", ""));
    cache = directory / "file" / "cache";  // can't be made
    BOOST_TEST(warnings() == 1u, err);
    BOOST_TEST(warnings() == 1u, err);
}

BOOST_AUTO_TEST_CASE(the_accounting_database_is_asked_once_a_minute_also_if_it_does_not_answer) {
    cache = directory / "cache";
    slurm.config = slurm::ClusterConfig(
        slurm::ClusterConfig::Settings{{"AccountingStorageType", "accounting_storage/slurmdbd"},
                                       {"AccountingStorageEnforce", "associations,limits,qos"}});
    auto const asked = [this] { return std::count(slurm.calls.begin(), slurm.calls.end(), "accounting"); };
    slurm.refused = {"accounting"};
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(asked() == 1);
    slurm.refused = {};
    clock.sleep_for(std::chrono::seconds(61));
    slurm.accounting.default_account = "ml";
    slurm.accounting.associations = {{"ml", user_name(environment), "", "", {"normal"}, "normal", {}}};
    slurm.accounting.qos = {{"normal", {}}};
    slurm.accounting.qos[0].limits.wall_max = "01:00:00";
    BOOST_TEST(create(" --config slurm.sbatch_args=[--time=60]") == 0, err);
    BOOST_TEST(create(" --config slurm.sbatch_args=[--time=60]") == 0, err);
    BOOST_TEST(asked() == 2);
    BOOST_TEST(create(" --config slurm.sbatch_args=[--time=61]") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "more than the 01:00:00 that QOS 'normal' gives a job"), err);
}

BOOST_AUTO_TEST_CASE(more_trials_than_the_user_may_submit_are_claimed_by_fewer_tasks) {
    auto const search = [&](int concurrent) {
        must(write_file(directory / "exp.yaml",
                        "name: example\nentrypoint: ./train\nresources: {slots_per_trial: 8}\n"
                        "hyperparameters: {a: {type: int, minval: 0, maxval: 9}}\n"
                        "searcher: {name: random, metric: loss, max_trials: 40, max_concurrent_trials: " +
                            std::to_string(concurrent) + "}\n"));
        return create();
    };
    auto const array_of = [&](std::uint32_t id) {
        auto const script = must(read_file(experiment(id).script()));
        auto const begin = script.find("--array=") + 8;
        return script.substr(begin, script.find('\n', begin) - begin);
    };
    slurm.submit_jobs_max = 40;
    BOOST_TEST(search(16) == 0, err);
    BOOST_TEST(array_of(1) == "0-39%16");
    BOOST_TEST(!must(parse_spec(must(read_file(experiment(1).spec())))).claims_trials());
    slurm.submit_jobs_max = 39;
    BOOST_TEST(search(16) == 0, err);
    BOOST_TEST(array_of(2) == "0-15%16");
    BOOST_TEST(must(parse_spec(must(read_file(experiment(2).spec())))).claims_trials());
    auto const arrays = array_jobs_of(must(journal::load_events(experiment(2).events())));
    BOOST_TEST(arrays.at(0).task_count == 16u);
    BOOST_TEST(arrays.at(0).task_of(39) == 7u);
    slurm.submit_jobs_max = 5;
    BOOST_TEST(search(16) == 0, err);
    BOOST_TEST(array_of(3) == "0-3%4");
    slurm.submit_jobs_max = 0;
    BOOST_TEST(search(16) == 5);
    BOOST_TEST(err.find("Job violates accounting/QOS policy") != std::string::npos, err);
    slurm.submit_jobs_max.reset();
    slurm.config =
        slurm::parse_cluster_config("SchedulerParameters = max_array_tasks=20\nMaxArraySize = 1001\n");
    clock.sleep_for(std::chrono::seconds(61));
    BOOST_TEST(search(30) == 0, err);
    BOOST_TEST(array_of(4) == "0-19%20");
}

BOOST_AUTO_TEST_CASE(json_names_the_new_experiment) {
    BOOST_TEST(create(" --json") == 0, err);
    BOOST_TEST(parse_json(out) == (Json{{"id", 1},
                                        {"name", "example"},
                                        {"job_id", "4711"},
                                        {"job_ids", Json::array({"4711"})},
                                        {"trial_count", 1},
                                        {"trials_per_job", 1},
                                        {"exclusive", true},
                                        {"start_estimate", nullptr},
                                        {"start_unknown_because", nullptr},
                                        {"resource_pool", "compute"},
                                        {"nodes", 2},
                                        {"nodes_min", 2},
                                        {"slots_per_node", 4},
                                        {"path", experiment(1).path().string()}}));
}

BOOST_AUTO_TEST_CASE(a_start_behind_jobs_without_a_time_limit_is_unknown) {
    auto const answer_for = [&](std::string const& time) {
        slurm.test_answer = "sbatch: Job 12 to start at " + time + " using 32 processors on nodes n0";
        slurm.calls.clear();
        BOOST_TEST(create(" --json") == 0, err);
        return parse_json(out);
    };
    auto const estimate_of = [&](std::string const& time) { return answer_for(time)["start_estimate"]; };
    auto const in_days = [&](std::int64_t days) {
        return format_utc({clock.now().microseconds + days * 24 * 3600 * 1'000'000}).substr(0, 19);
    };
    BOOST_TEST(estimate_of("soon") == "soon");
    BOOST_TEST(estimate_of(in_days(2)) == in_days(2));
    BOOST_TEST(std::ranges::count(slurm.calls, "queue") == 0);  // Slurm is not asked once more
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "Slurm expects it to start: " + short_time(parse_local_time(in_days(2))) + "\n"),
               err);
    BOOST_TEST(estimate_of(in_days(200)) == in_days(200));
    BOOST_TEST(answer_for(in_days(200))["start_unknown_because"].is_null());
    slurm.other_jobs.emplace_back();
    slurm.other_jobs.back().state = det::slurm::JobState::running;
    slurm.other_jobs.back().start_time = UtcTime{clock.now().microseconds - 165LL * 24 * 3600 * 1'000'000};
    for (auto const& time : {in_days(200), in_days(367), std::string("2538-04-11T00:00:00"),
                             std::string("10194-01-11T16:05:46")}) {
        auto const answer = answer_for(time);
        BOOST_TEST(answer["start_estimate"].is_null(), time);
        BOOST_TEST(answer["start_unknown_because"] == "jobs before it have no time limit", time);
        // A start in a year needs no look at the queue.
        BOOST_TEST(std::ranges::count(slurm.calls, "queue") == (time == in_days(200) ? 1 : 0), time);
    }
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "Slurm can't tell when it will start: jobs before it have no time limit"), err);
}

BOOST_AUTO_TEST_CASE(included_files_are_packed_with_the_context_or_without) {
    must(make_directory(directory / "lib"));
    must(write_file(directory / "lib/util", "u"));
    must(write_file(directory / "words", "abc"));
    BOOST_TEST(
        create(" -i " + (directory / "lib").string() + " --include " + (directory / "words").string()) == 0,
        err);
    BOOST_TEST(must(parse_spec(must(read_file(experiment(1).spec())))).context.value().size_bytes == 17u);
    BOOST_TEST(run("experiment create " + (directory / "exp.yaml").string() + " -i " +
                   (directory / "words").string() + " --config entrypoint=./words") == 0,
               err);
    BOOST_TEST(must(parse_spec(must(read_file(experiment(2).spec())))).context.value().size_bytes == 3u);
    must(write_file(directory / "code/words", "other"));
    BOOST_TEST(create(" -i " + (directory / "words").string()) == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "duplicate path detected"), err);
}

BOOST_AUTO_TEST_CASE(code_that_others_could_change_is_refused) {
    auto const words = (directory / "words").string();
    must(write_file(words, "abc"));
    BOOST_REQUIRE(::chmod(words.c_str(), 0622) == 0);
    BOOST_TEST(create(" -i " + words) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "others can write into the included '" + words + "'"), err);
    BOOST_TEST(contains(err, "chmod go-w"), err);
    BOOST_REQUIRE(::chmod((directory / "code").c_str(), 0707) == 0);
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "others can write into the context '"), err);
    BOOST_TEST(contains(err, "[unsafe-owner]"), err);
    BOOST_TEST(!path_exists(root.path()));
    BOOST_REQUIRE(::chmod((directory / "code").c_str(), 0700) == 0);
    if (::geteuid() == 0) {
        BOOST_REQUIRE(::chmod(words.c_str(), 0600) == 0);
        BOOST_REQUIRE(::chown(words.c_str(), 1, 1) == 0);
        BOOST_TEST(create(" -i " + words) == to_int(ExitCode::could_not));
    } else {
        BOOST_TEST(create(" -i /usr") == to_int(ExitCode::could_not));
    }
    BOOST_TEST(contains(err, "belongs to another user"), err);
}

BOOST_AUTO_TEST_CASE(the_members_of_a_project_group_may_write_code_unless_the_site_refuses_it) {
    auto const writers = [&](gid_t group, mode_t mode, bool can_others_write) {
        FileAccess access;
        access.info.st_gid = group;
        access.info.st_mode = mode;
        access.can_others_write = can_others_write;
        return writers_of(access, {1000, 2000});
    };
    BOOST_TEST((writers(2000, 0755, false) == Writers::none));
    BOOST_TEST((writers(2000, 02775, true) == Writers::group));
    BOOST_TEST((writers(1000, 0775, false) == Writers::none));  // a private group
    BOOST_TEST((writers(3000, 0770, true) == Writers::others));
    BOOST_TEST((writers(2000, 0757, true) == Writers::others));
}

BOOST_AUTO_TEST_CASE(code_that_every_user_can_write_is_refused_wherever_it_is_in_the_tree) {
    auto const code = directory / "code";
    std::filesystem::create_directories(code / "a/b");
    must(write_file(code / "a/b/file", ""));
    BOOST_REQUIRE(::chmod((code / "a/b").c_str(), 01777) == 0);  // others can add files
    BOOST_REQUIRE(::chmod((code / "a/b/file").c_str(), 0602) == 0);
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "every user can write '" + (code / "a/b").string() + "'"), err);
    BOOST_TEST(contains(err, "every user can write '" + (code / "a/b/file").string() + "'"), err);
    must(write_file(code / ".detignore", "b\n"));
    BOOST_TEST(create() == 0, err);
}

BOOST_AUTO_TEST_CASE(files_of_a_group_or_of_another_user_in_the_code_are_warned_of_or_refused) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: only root can give files away");
        return;
    }
    auto const code = directory / "code";
    for (auto const* name : {"of-group", "of-user"}) must(write_file(code / name, ""));
    BOOST_REQUIRE(::chown((code / "of-group").c_str(), 0, 4242) == 0);
    BOOST_REQUIRE(::chmod((code / "of-group").c_str(), 0660) == 0);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "warning: a group or another user can write '" + (code / "of-group").string()),
               err);
    BOOST_REQUIRE(::chown((code / "of-user").c_str(), 4242, 0) == 0);
    environment.set("DET_SITE", directory / "site.yaml");
    must(write_file(directory / "site.yaml", "version: 1\nrefuse_group_code: true\n", 0600));
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, " and 1 more in the code"), err);
}

BOOST_AUTO_TEST_CASE(a_directory_above_the_root_or_the_code_that_others_can_write_is_refused) {
    auto const above = directory / "above";
    std::filesystem::create_directories(above / "root");
    BOOST_REQUIRE(::chmod((above / "root").c_str(), 0700) == 0);
    environment.set("DET_ROOT", above / "root");
    BOOST_TEST(create() == 0, err);
    BOOST_REQUIRE(::chmod(above.c_str(), 0777) == 0);
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "every user can write into '" + above.string() + "'"), err);
    BOOST_TEST(contains(err, "mode 0777"), err);
    BOOST_TEST(contains(err, "[unsafe-owner]"), err);
    BOOST_REQUIRE(::chmod(above.c_str(), 01777) == 0);
    BOOST_TEST(create() == 0, err);
    auto const script = must(read_file(slurm.submissions.back().script));
    BOOST_TEST(contains(script, " trial --experiment "), script);
}

BOOST_AUTO_TEST_CASE(a_site_trusts_the_directory_of_a_project) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: only root can give files away");
        return;
    }
    auto const above = directory / "above";
    std::filesystem::create_directories(above / "root");
    BOOST_REQUIRE(::chmod((above / "root").c_str(), 0700) == 0);
    BOOST_REQUIRE(::chown(above.c_str(), 4242, 4242) == 0);
    BOOST_REQUIRE(::chmod(above.c_str(), 02775) == 0);
    environment.set("DET_ROOT", above / "root");
    environment.set("DET_SITE", directory / "site.yaml");
    auto const write_site = [&](std::string const& text) {
        must(write_file(directory / "site.yaml", "version: 1\n" + text, 0600));
    };
    write_site("");
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    write_site("trusted_ancestors: [" + above.string() + "]\n");
    BOOST_TEST(create(" --dry-run") == 0, err);
    BOOST_TEST(contains(out, " trial --trusted-ancestors " + above.string() + " --experiment "), out);
    must(
        write_file(directory / "own.sbatch", "exec {{det_launch}} trial --experiment {{experiment_path}}\n"));
    write_site("job_template: " + (directory / "own.sbatch").string() + "\ntrusted_ancestors: [" +
               above.string() + "]\n");
    BOOST_TEST(create(" --dry-run") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "trial{{trusted_ancestors}} --experiment"), err);
    write_site("trusted_ancestors: [relative, '/a:b']\n");
    BOOST_TEST(create(" --dry-run") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "trusted_ancestors[0] must be an absolute path"), err);
    BOOST_TEST(contains(err, "can't contain a colon"), err);
}

BOOST_AUTO_TEST_CASE(code_of_a_project_group_is_packed_with_a_warning) {
    auto const code = directory / "code";
    gid_t const project = 4242;
    if (::geteuid() != 0 || ::setgroups(1, &project) != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: only root can join a group");
        return;
    }
    BOOST_REQUIRE(::chown(code.c_str(), 0, project) == 0);
    BOOST_REQUIRE(::chmod(code.c_str(), 02775) == 0);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "warning: the group '4242' can write into the context '"), err);
    BOOST_TEST(contains(err, "chmod go-w"), err);
    environment.set("DET_SITE", directory / "site.yaml");
    must(write_file(directory / "site.yaml", "version: 1\nrefuse_group_code: true\n", 0600));
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "error: the group '4242' can write into the context '"), err);
    BOOST_REQUIRE(::setgroups(0, nullptr) == 0);
    BOOST_TEST(create() == to_int(ExitCode::could_not));  // a group with other users
    BOOST_TEST(contains(err, "others can write into the context '"), err);
}

BOOST_AUTO_TEST_CASE(a_dangling_link_is_packed_with_a_warning) {
    std::filesystem::create_symlink("missing", directory / "code/link");
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "warning:"), err);
    BOOST_TEST(contains(err, "link to 'missing'"), err);
}

BOOST_AUTO_TEST_CASE(the_checkpoint_that_trials_start_from_is_verified_at_creation) {
    checkpoint::SharedFsStore store(root.checkpoints());
    auto const uuid = make_uuid();
    auto const create_from = [&](std::string const& source) {
        must(write_file(directory / "exp.yaml",
                        "name: x\nentrypoint: ./train\nsearcher:\n  name: single\n  metric: loss\n  " +
                            source + "\nresources: {slots_per_trial: 8}\n"));
        return create();
    };
    BOOST_TEST(create_from("source_checkpoint_uuid: " + uuid) == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "exp.yaml:6:27"), err);
    BOOST_TEST(contains(err, "there is no checkpoint"), err);
    BOOST_TEST(create_from("source_checkpoint_uuid: ../../etc") == to_int(ExitCode::bad_file));
    BOOST_TEST(create_from("source_trial_id: 9000000") == to_int(ExitCode::absent));
    BOOST_TEST(!path_exists(experiment(1).path()));

    auto const files = must(store.create_directory(uuid));
    must(write_file(files / "weights", "bytes"));
    must(store.commit({uuid, "1.0.0", 100, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    BOOST_TEST(create_from("source_checkpoint_uuid: " + uuid) == 0, err);
    auto const spec = [&](std::uint32_t id) {
        return must(parse_spec(must(read_file(experiment(id).spec()))));
    };
    BOOST_TEST(spec(1).source_checkpoint.value_or("none") == uuid);
    BOOST_TEST(spec(1).source_checkpoint_sha256 == must(store.load_manifest(uuid)).sha256);

    BOOST_TEST(create_from("source_trial_id: 1000000") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "trial 1.0 has no checkpoint"), err);
    auto const first_run = experiment(1).trial(0).run(0);
    must(make_directories(first_run.path()));
    auto chief = must(journal::JournalWriter::create(first_run.chief_journal()));
    must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100, {}, {}}));
    BOOST_TEST(create_from("source_trial_id: 1000000") == 0, err);
    BOOST_TEST(spec(2).source_checkpoint.value_or("none") == uuid);
    BOOST_TEST(run("experiment fork 1") == 0, err);
    BOOST_TEST(spec(3).source_checkpoint.value_or("none") == uuid);

    must(write_file(files / "weights", "bites"));
    BOOST_TEST(create_from("source_checkpoint_uuid: " + uuid) == 8);
    BOOST_TEST(!path_exists(experiment(4).path()));
}

BOOST_AUTO_TEST_CASE(nodes_on_which_runs_failed_are_left_out_for_some_hours) {
    for (auto const* name : {"n0", "n1", "n2", "n3"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    auto const hours_ago = [&](std::int64_t hours) {
        return UtcTime{clock.now().microseconds - hours * 3600 * 1'000'000};
    };
    auto const options = [&] {
        auto const ids = must(list_directory(root.experiments()));
        auto const last = static_cast<std::uint32_t>(ids.size());
        return join(must(parse_spec(must(read_file(experiment(last).spec())))).sbatch_options, " ");
    };
    must(journal::remember_bad_node(root, {"n1", {5}, hours_ago(23), "x"}));
    must(journal::remember_bad_node(root, {"n2", {5}, hours_ago(25), "x"}));
    must(journal::remember_bad_node(root, {"gone", {5}, hours_ago(1), "x"}));
    must(write_file(root.bad_nodes() / "n3@6", "not a record"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(options(), "--exclude=n1"), options());
    BOOST_TEST(contains(err, "without n1: runs failed there within the last 24 hours"), err);
    BOOST_TEST(create(" --config slurm.bad_node_memory=26") == 0, err);
    BOOST_TEST(contains(options(), "--exclude=n[1-2]"), options());
    BOOST_TEST(create(" --config slurm.bad_node_memory=0") == 0, err);
    BOOST_TEST(!contains(options(), "--exclude"), options());
}

BOOST_AUTO_TEST_CASE(an_experiment_that_follows_others_depends_on_their_jobs) {
    BOOST_TEST(create() == 0, err);
    det::slurm::JobStatus job;
    job.ref = {4711, 0};  // a task of an array, as every job of an experiment is
    job.state = det::slurm::JobState::running;
    slurm.job = job;
    BOOST_TEST(create(" --config slurm.after=[1]") == 0, err);
    auto const options = slurm.submissions.back().options;
    BOOST_TEST(std::ranges::count(options, "--dependency=afterany:4711") == 1, join(options, " "));
    BOOST_TEST(create(" --config slurm.after=[1.0]") == 0, err);
    auto const of_trial = slurm.submissions.back().options;
    BOOST_TEST(std::ranges::count(of_trial, "--dependency=afterany:4711_0") == 1, join(of_trial, " "));
    // The task of another trial, and the job of another experiment, are not awaited.
    slurm.job->ref.task = 1;
    BOOST_TEST(create(" --config slurm.after=[1.0]") == 0, err);
    BOOST_TEST(!contains(join(slurm.submissions.back().options, " "), "--dependency"));
    slurm.job->ref = {4710, 0};
    BOOST_TEST(create(" --config slurm.after=[1]") == 0, err);
    BOOST_TEST(!contains(join(slurm.submissions.back().options, " "), "--dependency"));
    slurm.job->ref = {4711, 0};
    // A job that replaces another one later does not name jobs that Slurm has forgotten.
    auto const spec = must(parse_spec(must(read_file(experiment(2).spec()))));
    BOOST_TEST(!contains(join(spec.sbatch_options, " "), "--dependency"));
    BOOST_TEST(create(" --config slurm.after=[9]") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "there is no experiment 9"), err);
    BOOST_TEST(create(" --config slurm.after=[1.7]") == to_int(ExitCode::absent));
    BOOST_TEST(create(" --config slurm.after=[x]") == to_int(ExitCode::bad_file));
    BOOST_TEST(!path_exists(experiment(6).path()));
}

BOOST_AUTO_TEST_CASE(a_trial_that_any_task_may_run_is_awaited_by_the_whole_array) {
    must(write_file(directory / "exp.yaml",
                    "name: example\nentrypoint: ./train\nresources: {slots_per_trial: 8}\n"
                    "hyperparameters: {a: {type: int, minval: 0, maxval: 9}}\n"
                    "searcher: {name: random, metric: loss, max_trials: 4, max_concurrent_trials: 2}\n"));
    slurm.submit_jobs_max = 3;
    BOOST_TEST(create() == 0, err);
    slurm.submit_jobs_max.reset();
    det::slurm::JobStatus job;
    job.ref = {4711, 0};
    job.state = det::slurm::JobState::running;
    slurm.job = job;
    BOOST_TEST(create(" --config slurm.after=[1.3]") == 0, err);
    BOOST_TEST(std::ranges::count(slurm.submissions.back().options, "--dependency=afterany:4711") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
