// template list, describe, create, set, set-value, remove.
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "cli_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace template_test {

constexpr char small[] = "# Small ones\nresources:\n  slots_per_trial: 1  # one\nmax_restarts: 2\n";

struct Fixture : CliFixture {
    std::filesystem::path file = directory / "small.yaml";
    Fixture() { write(small); }

    void write(std::string const& text) const { must(write_file(file, text)); }
    std::filesystem::path path_of(std::string const& name) const {
        return root.templates() / (name + ".yaml");
    }
    std::string stored(std::string const& name) const { return must(read_file(path_of(name))); }
    int set(std::string const& name) { return run({"template", "set", name, file.string()}); }
    int set_value(std::string const& name, std::string const& key, std::string const& value) {
        return run({"template", "set-value", name, key, value});
    }
};

}  // namespace template_test

BOOST_FIXTURE_TEST_SUITE(template_test, Fixture)

BOOST_AUTO_TEST_CASE(a_template_is_stored_as_it_was_written) {
    BOOST_TEST(run({"tpl", "create", "small", file.string()}) == 0);
    BOOST_TEST(out == "Created template small\n");
    BOOST_TEST(stored("small") == small);
    struct stat info {};
    BOOST_REQUIRE(::stat(root.templates().c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0700u);
    BOOST_TEST(run("template describe small") == 0);
    BOOST_TEST(out == small);
    auto const described = ask("template describe small");
    BOOST_TEST(described["config"]["max_restarts"] == 2);
    BOOST_TEST(described["shipped"] == false);
    BOOST_TEST(described["path"] == path_of("small").string());
}

BOOST_AUTO_TEST_CASE(create_requires_a_new_name_and_set_does_not) {
    BOOST_TEST(set("small") == 0);
    BOOST_TEST(out == "Set template small\n");
    write("max_restarts: 7\n");
    BOOST_TEST(run({"template", "create", "small", file.string()}) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "template set small"), err);
    BOOST_TEST(stored("small") == small);
    BOOST_TEST(set("small") == 0);
    BOOST_TEST(stored("small") == "max_restarts: 7\n");
}

BOOST_AUTO_TEST_CASE(set_value_config_replaces_an_own_template) {
    auto const replace = [&](std::string const& name) {
        return run({"template", "set-value", "config", name, file.string()});
    };
    BOOST_TEST(replace("small") == to_int(ExitCode::absent));
    BOOST_TEST(set("small") == 0);
    write("max_restarts: 7\n");
    BOOST_TEST(replace("small") == 0);
    BOOST_TEST(out == "Set template small\n");
    BOOST_TEST(stored("small") == "max_restarts: 7\n");
    BOOST_TEST(replace("mpi") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is shipped with det-submit"), err);
    write("max_restarts: x\n");
    BOOST_TEST(replace("small") == to_int(ExitCode::bad_file));
    BOOST_TEST(stored("small") == "max_restarts: 7\n");
}

BOOST_AUTO_TEST_CASE(errors_of_a_template_are_reported_and_nothing_changes) {
    BOOST_TEST(set("small") == 0);
    write("template: other\nresorces: {}\nmax_restarts: -1\n");
    BOOST_TEST(set("small") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "small.yaml:1:1: error: unknown key 'template'"), err);
    BOOST_TEST(contains(err, "a template refers to no other"), err);
    BOOST_TEST(contains(err, "small.yaml:2:1: error:"), err);
    BOOST_TEST(contains(err, "small.yaml:3:15: error:"), err);
    BOOST_TEST(stored("small") == small);
    write("a: [\n");
    BOOST_TEST(run({"template", "create", "other", file.string()}) == to_int(ExitCode::bad_file));
    BOOST_TEST(!path_exists(path_of("other")));
    BOOST_TEST(run({"template", "set", "small", (directory / "absent").string()}) ==
               to_int(ExitCode::absent));
    BOOST_TEST(run({"template", "set", "small", directory.path().string()}) == to_int(ExitCode::bad_file));
}

BOOST_AUTO_TEST_CASE(a_template_name_with_a_slash_is_refused) {
    for (std::string const name : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "\xc3\xa9", "a\n"}) {
        BOOST_TEST(set(name) == to_int(ExitCode::usage), name);
        BOOST_TEST(run({"template", "create", name, file.string()}) == to_int(ExitCode::usage), name);
        BOOST_TEST(run({"template", "remove", name}) == to_int(ExitCode::absent), name);
        BOOST_TEST(run({"template", "describe", name}) == to_int(ExitCode::absent), name);
    }
    BOOST_TEST(set(std::string(300, 'x')) == to_int(ExitCode::usage));
    for (std::string const name : {"A-1", "x_y.z", "7"}) BOOST_TEST(set(name) == 0, name);
}

BOOST_AUTO_TEST_CASE(own_and_shipped_templates_are_listed) {
    BOOST_TEST(run("template list") == 0);
    BOOST_TEST(contains(out, "\nmpi             | shipped\n"), out);
    BOOST_TEST(!path_exists(root.path()));  // commands that read create no directory
    set("mpi");
    write("a: [\n");
    must(write_file(root.templates() / "broken.yaml", "a: [\n"));
    must(write_file(root.templates() / ".half.yaml", ""));
    must(write_file(root.templates() / "notes.txt", ""));
    auto const list = ask("template list");
    std::vector<std::string> names;
    for (auto const& row : list) names.push_back(row["name"]);
    BOOST_TEST(join(names, " ") == "asha broken debugging mpi own-checkpoints preemptible shared-fs torch");
    BOOST_TEST(list[3]["shipped"] == false);
    BOOST_TEST(list[4]["shipped"] == true);
    BOOST_TEST(!list[0].contains("config"));
    BOOST_TEST(run("tpl list -d") == 0);
    BOOST_TEST(contains(out, " | # Small ones\n"), out);
    BOOST_TEST(contains(out, " |   slots_per_trial: 1  # one\n"), out);
    BOOST_TEST(contains(err, "broken.yaml:1:"), err);
    BOOST_TEST(ask("template list --details")[3]["config"]["max_restarts"] == 2);
}

BOOST_AUTO_TEST_CASE(shared_templates_are_read_after_own_and_before_shipped_ones) {
    auto const group = directory / "group", site = directory / "site";
    for (auto const& each : {group, site}) must(make_directory(each, 0755));
    must(write_file(group / "team.yaml", "max_restarts: 3\n", 0644));
    must(write_file(site / "team.yaml", "max_restarts: 4\n", 0644));
    must(write_file(site / "mpi.yaml", "max_restarts: 5\n", 0644));
    must(write_file(directory / "site.yaml", "version: 1\ntemplates: " + site.string() + "\n"));
    environment.set("DET_SITE", (directory / "site.yaml").string());
    environment.set("DET_TEMPLATES", ":" + (directory / "absent").string() + ":" + group.string());
    BOOST_TEST(ask("template describe team")["config"]["max_restarts"] == 3);
    BOOST_TEST(ask("template describe team")["path"] == (group / "team.yaml").string());
    BOOST_TEST(ask("template describe mpi")["config"]["max_restarts"] == 5);
    BOOST_TEST(ask("template describe mpi")["shipped"] == false);
    BOOST_TEST(run("template list") == 0);
    BOOST_TEST(contains(out, (group / "team.yaml").string()), out);
    auto const shown = ask("config show --sanity --template team " + file.string());
    BOOST_TEST(shown["max_restarts"] == 2);  // the configuration's own
    BOOST_TEST(run({"template", "set-value", "config", "team", file.string()}) ==
               to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is shared"), err);
    BOOST_TEST(run("template remove team") == to_int(ExitCode::could_not));
    BOOST_TEST(set_value("team", "max_restarts", "9") == 0);
    BOOST_TEST(contains(err, "'team' is shared: the value is set in a copy of yours"), err);
    BOOST_TEST(ask("template describe team")["config"]["max_restarts"] == 9);
    BOOST_TEST(run("template remove team") == 0);
    BOOST_TEST(ask("template describe team")["config"]["max_restarts"] == 3);
}

BOOST_AUTO_TEST_CASE(a_shared_template_that_others_can_write_is_refused) {
    auto const group = directory / "group";
    must(make_directory(group, 0755));
    must(write_file(group / "team.yaml", "max_restarts: 3\n", 0644));
    environment.set("DET_TEMPLATES", group.string());
    BOOST_REQUIRE(::chmod(group.c_str(), 0777) == 0);
    BOOST_TEST(run("template describe team") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "chmod go-w"), err);
    BOOST_REQUIRE(::chmod(group.c_str(), 0755) == 0);
    BOOST_TEST(run("template describe team") == 0);
    if (::geteuid() == 0) {
        BOOST_REQUIRE(::chown(group.c_str(), 4243, 4242) == 0);  // the site may give it to any user
        BOOST_REQUIRE(::chown((group / "team.yaml").c_str(), 4243, 4242) == 0);
        BOOST_TEST(run("template describe team") == 0, err);
        BOOST_REQUIRE(::chmod(group.c_str(), 02775) == 0);
        BOOST_TEST(run("template describe team") == to_int(ExitCode::could_not));
        BOOST_TEST(contains(err, "its group can write into '" + group.string() + "'"), err);
        BOOST_REQUIRE(::chmod(group.c_str(), 0755) == 0);
        BOOST_REQUIRE(::chmod((group / "team.yaml").c_str(), 0664) == 0);
        BOOST_TEST(run("template describe team") == to_int(ExitCode::could_not));
        BOOST_TEST(contains(err, "group 4242, mode 0664"), err);
    }
    BOOST_REQUIRE(::chmod((group / "team.yaml").c_str(), 0646) == 0);
    BOOST_TEST(run("template describe team") == to_int(ExitCode::could_not));
    environment.set("DET_TEMPLATES", "templates");
    BOOST_TEST(run("template list") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(secrets_of_a_template_are_stored_and_not_shown) {
    write("# Mine\ncheckpoint_storage: {type: s3, secret_key: hunter2}\n");
    BOOST_TEST(set("s3") == 0);
    for (auto const* line : {"template describe s3", "template describe s3 --json", "template list -d",
                             "template list -d --json"}) {
        BOOST_TEST(run(line) == 0);
        BOOST_TEST(!contains(out, "hunter2"), out);
        BOOST_TEST(contains(out, "********"), out);
    }
    BOOST_TEST(set_value("s3", "checkpoint_storage.bucket", "b") == 0);
    BOOST_TEST(contains(stored("s3"), "secret_key: hunter2"), stored("s3"));
}

BOOST_AUTO_TEST_CASE(a_value_is_replaced_in_place) {
    set("small");
    BOOST_TEST(set_value("small", "resources.slots_per_trial", "4") == 0);
    BOOST_TEST(out == "Set template small\n");
    BOOST_TEST(stored("small") == "# Small ones\nresources:\n  slots_per_trial: 4  # one\nmax_restarts: 2\n");
    BOOST_TEST(set_value("small", "description", "it's: mine") == 0);
    BOOST_TEST(stored("small") ==
               "# Small ones\nresources:\n  slots_per_trial: 4  # one\nmax_restarts: 2\ndescription: 'it''s: "
               "mine'\n");
    BOOST_TEST(set_value("small", "resources.max_slots", "8") == 0);
    BOOST_TEST(stored("small") ==
               "# Small ones\nresources:\n  slots_per_trial: 4\n  max_slots: 8\nmax_restarts: 2\n"
               "description: 'it''s: mine'\n");
    BOOST_TEST(set_value("small", "labels", "a,b") == 0);
    BOOST_TEST(set_value("small", "max_restarts", "") == 0);
    auto const config = ask("template describe small")["config"];
    BOOST_TEST(config["labels"] == (Json{"a", "b"}));
    BOOST_TEST(!config.contains("max_restarts"));
}

BOOST_AUTO_TEST_CASE(an_invalid_value_changes_nothing) {
    set("small");
    BOOST_TEST(set_value("small", "resources.slot_per_trial", "4") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "use 'slots_per_trial'"), err);
    BOOST_TEST(set_value("small", "max_restarts", "many") == to_int(ExitCode::bad_file));
    BOOST_TEST(set_value("small", "max_restarts.x", "1") == to_int(ExitCode::bad_file));
    BOOST_TEST(set_value("small", "a=b", "1") == to_int(ExitCode::usage));
    BOOST_TEST(set_value("small", "a..b", "1") == to_int(ExitCode::usage));
    BOOST_TEST(set_value("absent", "max_restarts", "1") == to_int(ExitCode::absent));
    BOOST_TEST(stored("small") == small);
}

BOOST_AUTO_TEST_CASE(a_shipped_template_is_changed_in_a_copy) {
    BOOST_TEST(set_value("shared-fs", "checkpoint_storage.host_path", "/mine") == 0);
    BOOST_TEST(contains(err, "in a copy of yours"), err);
    BOOST_TEST(ask("template describe shared-fs")["config"]["checkpoint_storage"]["host_path"] == "/mine");
    BOOST_TEST(run("template remove shared-fs") == 0);
    BOOST_TEST(out == "Removed template shared-fs\n");
    BOOST_TEST(ask("template describe shared-fs")["shipped"] == true);
    BOOST_TEST(run("template remove shared-fs") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is shipped with det-submit"), err);
}

BOOST_AUTO_TEST_CASE(an_unknown_template_is_reported_with_the_nearest_name) {
    set("small");
    for (std::string const command : {"describe", "remove"}) {
        BOOST_TEST(run("template " + command + " smal") == to_int(ExitCode::absent));
        BOOST_TEST(contains(err, "hint: use 'small'"), err);
    }
    BOOST_TEST(run("template describe small.yaml") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "hint: use 'small'"), err);
}

BOOST_AUTO_TEST_CASE(a_template_that_others_can_write_is_refused) {
    set("small");
    BOOST_REQUIRE(::chmod(path_of("small").c_str(), 0664) == 0);
    BOOST_TEST(run("template describe small") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "unsafe-owner"), err);
    BOOST_REQUIRE(::chmod(path_of("small").c_str(), 0600) == 0);
    BOOST_REQUIRE(::chmod(root.templates().c_str(), 0777) == 0);
    BOOST_TEST(run("template describe small") == to_int(ExitCode::could_not));
}

BOOST_AUTO_TEST_SUITE_END()
