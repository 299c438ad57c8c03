// The commands of the model registry.
#include <boost/test/unit_test.hpp>

#include "checkpoint_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace model_commands_test {

struct Fixture : CheckpointFixture {
    /// Two models; the first has the checkpoints of steps 1 and 3 of experiment 1 as versions.
    void make_models() {
        must_run({"model", "create", "mnist", "--description", "digits", "--label", "vision", "--metadata",
                  R"({"accuracy": 0.9})"});
        must_run({"model", "create", "speech to text"});
        must_run({"model", "register-version", "mnist", ended[0]});
        must_run({"model", "register-version", "1", ended[2]});
        must_run(
            {"model", "update", "mnist", "--version", "2", "--name", "best", "--notes", "tested\nby hand"});
    }
    void must_run(std::vector<std::string> const& arguments) {
        clock.sleep_for(std::chrono::minutes(1));
        BOOST_REQUIRE_MESSAGE(run(arguments) == 0, err);
    }
    /// Replaces what differs between runs of the test: UUIDs of checkpoints and the name of the user.
    std::string masked(std::string text) const {
        auto const user = experiment::user_name(environment);
        for (std::string const before : {"\"username\": \"", " by "})
            replace(text, before + user, before + "USER");
        for (std::size_t i = 0; i < ended.size(); ++i)
            replace(text, ended[i], "00000000-0000-4000-8000-00000000000" + std::to_string(i));
        return text;
    }
    static void replace(std::string& text, std::string const& old, std::string const& now) {
        for (auto at = text.find(old); at != text.npos; at = text.find(old, at + now.size()))
            text.replace(at, old.size(), now);
    }
};

}  // namespace model_commands_test

BOOST_FIXTURE_TEST_SUITE(model_commands_test, Fixture)

BOOST_AUTO_TEST_CASE(models_and_versions_are_shown) {
    make_models();
    for (auto const& [command, name] : {std::pair{"model list --sort-by name", "model_list.txt"},
                                        {"model list --json", "model_list.json"},
                                        {"model describe mnist", "model_describe.txt"},
                                        {"model list-versions mnist", "model_versions.txt"},
                                        {"model list-versions mnist --json", "model_versions.json"}}) {
        BOOST_TEST(run(command) == 0, err);
        check_golden(std::string("cli/") + name, masked(out));
    }
    BOOST_TEST(ask("model describe mnist")["version"]["version"] == 2);
    BOOST_TEST(ask("model describe mnist --version 1")["version"]["checkpoint"]["uuid"] == ended[0]);
    BOOST_TEST(ask("model describe 2")["version"].is_null());
    BOOST_TEST(run("model describe mnist --version 3") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "the model 'mnist' has no version 3"), err);
    BOOST_TEST(run("m describe mnits") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "use 'mnist'"), err);
    BOOST_TEST(run("model list --csv") == 0);
    BOOST_TEST(contains(out, "1,mnist,2,"), out);
}

BOOST_AUTO_TEST_CASE(models_are_sorted_by_what_is_asked_for) {
    make_models();
    auto const ids = [&](std::string const& options) {
        std::string text;
        for (auto const& model : ask("model list " + options)) text += std::to_string(model["id"].get<int>());
        return text;
    };
    BOOST_TEST(ids("--sort-by name") == "12");
    BOOST_TEST(ids("--sort-by last_updated_time") == "21");
    BOOST_TEST(ids("--order-by desc") == "12");
    BOOST_TEST(ids("--sort-by creation_time --order-by desc") == "21");
    BOOST_TEST(ids("--sort-by description") == "21");
    BOOST_TEST(ids("--sort-by num_versions") == "21");
    BOOST_TEST((must_fail(parse_command_line({"model", "list", "--sort-by", "size"})).code == codes::usage));
}

BOOST_AUTO_TEST_CASE(a_version_keeps_its_checkpoint) {
    make_models();
    BOOST_TEST(run("checkpoint delete --yes " + ended[1] + " " + ended[2]) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "checkpoint " + ended[2] + " is version 2 of the model 'mnist'"), err);
    BOOST_TEST(contains(err, "model delete 1 --version 2"), err);
    BOOST_TEST(run("checkpoint rm --yes --glob * " + ended[2]) == to_int(ExitCode::could_not));
    BOOST_TEST(run("experiment delete 1 --yes") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "of experiment 1 is version 1 of the model 'mnist'"), err);
    must_run({"experiment", "set", "gc-policy", "1", "--save-trial-best", "0", "--save-trial-latest", "0",
              "--yes"});
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(is_there(ended[i]) == (i != 1), i);
    BOOST_TEST(run("model delete mnist --version 2") == to_int(ExitCode::usage));
    must_run({"model", "delete", "mnist", "--version", "2", "--yes"});
    must_run({"checkpoint", "delete", "--yes", ended[2]});
    must_run({"model", "delete", "mnist", "--yes"});
    must_run({"experiment", "delete", "1", "--yes"});
    BOOST_TEST(!is_there(ended[0]));
    BOOST_TEST(ask("model list").size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_registered_is_refused) {
    make_models();
    BOOST_TEST(run("model create mnist") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "there is a model 'mnist'"), err);
    BOOST_TEST(run("model register-version mnist 00000000-0000-4000-8000-000000000009") ==
               to_int(ExitCode::absent));
    BOOST_TEST(run("model register-version nothing " + ended[0]) == to_int(ExitCode::absent));
    must_run({"model", "archive", "mnist"});
    BOOST_TEST(run("model register-version mnist " + ended[1]) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "model unarchive 1"), err);
    must_run({"model", "unarchive", "mnist"});
    BOOST_TEST(run("model update mnist") == to_int(ExitCode::usage));
    BOOST_TEST(run("model update mnist --metadata [1]") == to_int(ExitCode::usage));
    BOOST_TEST(run("model update mnist --label a --no-labels") == to_int(ExitCode::usage));
    must_run({"model", "update", "mnist", "--no-labels", "--name", "digits"});
    auto const model = ask("model describe digits");
    BOOST_TEST(model["labels"].empty());
    BOOST_TEST(model["num_versions"] == 2);
    BOOST_TEST(run("model describe mnist") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(a_registry_that_others_can_write_is_refused) {
    make_models();
    std::filesystem::permissions(root.models(), std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    BOOST_TEST(run("model create other") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "[unsafe-owner]"), err);
}

BOOST_AUTO_TEST_CASE(a_damaged_registry_stops_what_would_remove_checkpoints) {
    make_models();
    must(write_file(root.models() / "events" / "2-model.json", "{}"));
    for (std::string const& command :
         {std::string("model list"), "checkpoint delete --yes " + ended[1], std::string("experiment gc 1"),
          std::string("experiment delete 1 --yes")}) {
        BOOST_TEST(run(command) == to_int(ExitCode::could_not), command);
        BOOST_TEST(contains(err, "while reading the model registry"), err);
    }
    for (auto const& uuid : ended) BOOST_TEST(is_there(uuid));
}

BOOST_AUTO_TEST_SUITE_END()
