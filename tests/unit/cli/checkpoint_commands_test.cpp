// The commands that show, copy and remove checkpoints.
#include <boost/test/unit_test.hpp>

#include "checkpoint_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

BOOST_FIXTURE_TEST_SUITE(checkpoint_commands_test, CheckpointFixture)

BOOST_AUTO_TEST_CASE(the_contents_of_a_checkpoint_are_shown) {
    auto const answer = ask("checkpoint describe " + ended[1]);
    BOOST_TEST(answer["run"] == "1.0.0");
    BOOST_TEST(answer["steps_completed"] == 2);
    BOOST_TEST(answer["path"] == store.path_of(ended[1]).string());
    BOOST_TEST(
        answer["tensors"][0] ==
        (Json{{"name", "w"}, {"dtype", "F32"}, {"shape", {10, 10}}, {"files", {"rank-00000.safetensors"}}}));
    BOOST_TEST(run("checkpoint describe " + ended[1]) == 0);
    BOOST_TEST(contains(out, "[10, 10]"), out);
    BOOST_TEST(run("checkpoint describe 00000000-0000-4000-8000-000000000009") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(damage_is_found_and_named) {
    BOOST_TEST(run("c verify " + ended[0] + " " + ended[1]) == 0);
    BOOST_TEST(contains(out, ended[0] + ": whole, 2 files"), out);
    damage(ended[1]);
    BOOST_TEST(run("checkpoint verify " + ended[0] + " " + ended[1] + " --json") ==
               to_int(ExitCode::damaged));
    BOOST_TEST(contains(err, "bytes 0 to 4495 of 'rank-00000.safetensors' don't match their checksum"), err);
    auto const answer = parse_json(out);
    BOOST_TEST(answer[0]["is_whole"] == true);
    BOOST_TEST(answer[1]["is_whole"] == false);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_copied_completely_or_not_at_all) {
    auto const target = directory / "copy";
    BOOST_TEST(run("checkpoint download " + ended[0] + " -o " + target.string()) == 0);
    BOOST_TEST(must(read_file(target / "rank-00000.safetensors")) ==
               must(read_file(store.path_of(ended[0]) / "rank-00000.safetensors")));
    BOOST_TEST(path_exists(target / "metadata.json"));
    BOOST_TEST(run("checkpoint download " + ended[0] + " -o " + target.string()) ==
               to_int(ExitCode::could_not));
    damage(ended[1]);
    BOOST_TEST(run("checkpoint download " + ended[1] + " -o " + (directory / "other").string()) ==
               to_int(ExitCode::damaged));
    BOOST_TEST(!path_exists(directory / "other"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_copied_into_a_directory_that_has_other_files) {
    auto const target = directory / "mine";
    must(make_directories(target));
    must(write_file(target / "notes", "text"));
    auto const names = [&] { return join(must(list_directory(target)), " "); };
    damage(ended[1]);
    BOOST_TEST(run("checkpoint download " + ended[1] + " -o " + target.string()) ==
               to_int(ExitCode::damaged));
    BOOST_TEST(names() == "notes");
    BOOST_TEST(run("checkpoint download " + ended[0] + " --mode master -o " + target.string()) == 0, err);
    BOOST_TEST(names() == "manifest metadata.json notes rank-00000.safetensors");
    BOOST_TEST(run("checkpoint download " + ended[2] + " -o " + target.string()) ==
               to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is there already"), err);
    BOOST_TEST(names() == "manifest metadata.json notes rank-00000.safetensors");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_safetensors_file_is_not_imported) {
    auto const file = directory / "file";
    auto const with_header = [](std::string const& header, std::string const& data) {
        std::uint64_t const length = header.size();
        return std::string(reinterpret_cast<char const*>(&length), sizeof length) + header + data;
    };
    std::string const good = R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
    for (auto const& text :
         {std::string(), std::string("1234567"), std::string(8, '\xff'), with_header("{}", ""),
          with_header("[1]", ""), with_header(good, "1234567"),
          with_header(R"({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", "12345678"),
          with_header(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", "12345678"),
          with_header(R"({"w": {"dtype": "X9", "shape": [2], "data_offsets": [0, 8]}})", "12345678"),
          with_header(R"({"w": {"dtype": "F32", "shape": [4294967296, 4294967296, 4294967296],
                         "data_offsets": [0, 0]}})",
                      "")}) {
        must(write_file(file, text));
        BOOST_TEST(run("checkpoint import " + file.string()) == to_int(ExitCode::bad_file), text);
        BOOST_TEST(contains(err, "is not a safetensors file"), err);
    }
    must(write_file(file, with_header(good, "12345678")));
    BOOST_TEST(run("checkpoint import " + file.string()) == 0, err);
}

BOOST_AUTO_TEST_CASE(the_newest_or_best_checkpoint_of_a_trial_is_downloaded) {
    auto const take = [&](std::string const& options, std::string const& target) {
        return ask("trial download 1.0 " + options + " -o " + (directory / target).string())["uuid"];
    };
    BOOST_TEST(take("--latest", "a") == ended[2]);
    BOOST_TEST(take("--best", "b") == ended[0]);
    BOOST_TEST(take("--uuid " + ended[1], "c") == ended[1]);
    BOOST_TEST(take("--sort-by loss --smaller-is-better false", "d") == ended[2]);
    BOOST_TEST(run("trial download 1.0 --latest --sort-by loss --smaller-is-better true") ==
               to_int(ExitCode::usage));
    for (auto const* command : {"trial download 1.0", "experiment download 1"}) {
        BOOST_TEST(run(std::string(command) + " --sort-by los --smaller-is-better true") ==
                   to_int(ExitCode::absent));
        BOOST_TEST(contains(err, "there is no metric 'los' in the validations of 1.0"), err);
        BOOST_TEST(contains(err, "use 'loss'"), err);
    }
    BOOST_TEST(run("trial download 1.0 --best --latest") == to_int(ExitCode::usage));
    BOOST_TEST(run("trial download 1.0 --uuid " + running[0]) == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(the_best_checkpoints_of_an_experiment_are_downloaded) {
    auto const target = directory / "best";
    auto const copies = ask("experiment download 1 --top-n 2 -o " + target.string());
    BOOST_REQUIRE(copies.size() == 2u);
    BOOST_TEST(copies[0]["uuid"] == ended[0]);
    BOOST_TEST(copies[1]["uuid"] == ended[1]);
    BOOST_TEST(copies[0]["metric"] == 0.1);
    BOOST_TEST(copies[0]["trial"] == "1.0");
    BOOST_TEST(path_exists(target / ended[1] / "rank-00000.safetensors"));
    // One of the directories exists: none is made.
    BOOST_TEST(run("experiment download 1 --top-n 3 -o " + target.string()) == to_int(ExitCode::could_not));
    BOOST_TEST(!path_exists(target / ended[2]));
    auto const other = (directory / "other").string();
    BOOST_TEST(run("experiment download 1 --sort-by loss --smaller-is-better false -q -o " + other) == 0);
    BOOST_TEST(out == other + "/" + ended[2] + "\n");
    BOOST_TEST(run("experiment download 1 --sort-by nothing --smaller-is-better true -o " + other) ==
               to_int(ExitCode::absent));
    BOOST_TEST(run("experiment download 1 --sort-by loss -o " + other) == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment download 9 -o " + other) == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_removed_after_confirmation) {
    BOOST_TEST(run("checkpoint delete " + ended[0]) == to_int(ExitCode::usage));
    BOOST_TEST(is_there(ended[0]));
    BOOST_TEST(contains(err, "1 checkpoint would be removed"), err);
    typed = "\n";  // Enter means no
    BOOST_TEST(run("checkpoint delete " + ended[0]) == to_int(ExitCode::could_not));
    BOOST_TEST(is_there(ended[0]));
    typed.reset();
    BOOST_TEST(run("checkpoint delete , --yes") == to_int(ExitCode::usage));
    BOOST_TEST(run("checkpoint delete " + ended[0] + "," + ended[2] + " --yes") == 0);
    BOOST_TEST(!is_there(ended[0]));
    BOOST_TEST(!path_exists(store.path_of(ended[2])));
}

BOOST_AUTO_TEST_CASE(a_running_trial_keeps_the_checkpoint_that_it_resumes_from) {
    BOOST_TEST(run("checkpoint delete --yes " + running[0] + " " + running[2]) ==
               to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "trial 2.0 may still run"), err);
    BOOST_TEST(is_there(running[0]));
    damage(running[2]);  // now running[1] is the newest valid one
    BOOST_TEST(run("checkpoint delete --yes " + running[1]) == to_int(ExitCode::could_not));
    BOOST_TEST(run("checkpoint delete --yes " + running[2]) == 0);
}

BOOST_AUTO_TEST_CASE(files_can_be_removed_from_a_checkpoint) {
    BOOST_TEST(run("checkpoint rm --glob *.safetensors " + ended[0]) == to_int(ExitCode::usage));
    BOOST_TEST(run("checkpoint rm --yes " + ended[0]) == to_int(ExitCode::usage));
    typed = "n\n";
    BOOST_TEST(run("checkpoint rm --glob *.safetensors " + ended[0]) == to_int(ExitCode::could_not));
    BOOST_TEST(path_exists(store.path_of(ended[0]) / "rank-00000.safetensors"));
    typed = "yes\n";
    BOOST_TEST(run("checkpoint rm --glob *.safetensors " + ended[0]) == 0);
    typed.reset();
    BOOST_TEST(!path_exists(store.path_of(ended[0]) / "rank-00000.safetensors"));
    auto const manifest = must(store.verify_on_disk(ended[0]));
    BOOST_TEST(manifest.tensors.empty());
    BOOST_TEST(manifest.files.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_metadata_of_a_checkpoint_is_replaced) {
    auto const set = [&](std::string const& uuid, std::string const& metadata) {
        return run({"checkpoint", "set", "metadata", uuid, metadata});
    };
    BOOST_TEST(set(ended[1], R"({"accuracy": 0.9, "steps_completed": 7})") == 0);
    Json const expected{{"accuracy", 0.9}, {"steps_completed", 2}};
    BOOST_TEST(ask("checkpoint describe " + ended[1])["metadata"] == expected);
    auto const listed = ask("experiment list-checkpoints 1");
    BOOST_TEST(std::ranges::any_of(listed, [&](auto const& checkpoint) {
        return checkpoint["uuid"] == ended[1] && checkpoint["metadata"] == expected;
    }));
    must(store.verify_on_disk(ended[1]));
    BOOST_TEST(run("checkpoint verify " + ended[1]) == 0, err);  // the journal has its new SHA-256
    BOOST_TEST(set(ended[1], "{}") == 0);
    BOOST_TEST(ask("checkpoint describe " + ended[1])["metadata"] == (Json{{"steps_completed", 2}}));

    for (auto const* wrong : {"", "[]", "7", "{", "{} {}"})
        BOOST_TEST(set(ended[1], wrong) == to_int(ExitCode::usage), wrong);
    BOOST_TEST(set("00000000-0000-4000-8000-000000000009", "{}") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(the_policy_decides_which_checkpoints_stay) {
    auto const dry = ask("experiment gc 1 --dry-run");
    BOOST_TEST(dry["removed"].size() == 1u);
    BOOST_TEST(is_there(ended[1]));
    auto const done = ask("experiment gc 1");
    BOOST_TEST(done["removed"][0]["uuid"] == ended[1]);
    BOOST_TEST(done["removed"][0]["trial"] == "1.0");
    BOOST_TEST(!is_there(ended[1]));
    BOOST_TEST(ask("experiment gc 1")["removed"].empty());
}

BOOST_AUTO_TEST_CASE(a_new_policy_applies_at_once_and_later) {
    BOOST_TEST(run("experiment set gc-policy 2 --save-trial-best 0 --save-trial-latest 0") ==
               to_int(ExitCode::usage));
    BOOST_TEST(contains(err, running[0]), err);
    BOOST_TEST(is_there(running[0]));
    typed = "no\n";
    BOOST_TEST(run("experiment set gc-policy 2 --save-trial-best 0 --save-trial-latest 0") ==
               to_int(ExitCode::could_not));
    BOOST_TEST(ask("experiment gc 2 --dry-run")["policy"]["save_trial_best"] == 1);
    typed = "Y\n";
    auto const answer = ask("experiment set gc-policy 2 --save-trial-best 0 --save-trial-latest 0");
    typed.reset();
    BOOST_TEST(answer["policy"] ==
               (Json{{"save_experiment_best", 0}, {"save_trial_best", 0}, {"save_trial_latest", 0}}));
    BOOST_TEST(answer["removed"].size() == 2u);
    BOOST_TEST(is_there(running[2]));  // the trial may go on from it
    BOOST_TEST(ask("experiment gc 2")["policy"] == answer["policy"]);
}

BOOST_AUTO_TEST_CASE(an_ended_experiment_can_be_deleted_and_its_id_is_not_reused) {
    BOOST_TEST(run("experiment delete 1") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment delete 2 --yes") == to_int(ExitCode::could_not));
    BOOST_TEST(is_there(ended[0]));
    typed = "n\n";
    BOOST_TEST(run("experiment delete 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "will be removed. Remove? [y/N]"), err);
    BOOST_TEST(contains(err, "nothing was removed"), err);
    typed = "";  // the end of the input
    BOOST_TEST(run("experiment delete 1") == to_int(ExitCode::could_not));
    typed.reset();
    BOOST_TEST(run("experiment delete 1 --yes") == 0);
    for (auto const& uuid : ended) BOOST_TEST(!is_there(uuid));
    BOOST_TEST(run("experiment describe 1") == to_int(ExitCode::absent));
    BOOST_TEST(ask("experiment list").size() == 1u);
    BOOST_TEST(path_exists(ExperimentLayout(root, {1}).path()));
    BOOST_TEST(run("experiment delete 1 --yes") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
