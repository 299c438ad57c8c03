// A member of the user's group renames the user's root and puts a tree of his own in its place, in a
// directory that the group can write. Nothing in that tree may run as the user.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace attacks_directories {

namespace fs = std::filesystem;

constexpr char configuration[] =
    "name: x\n"
    "entrypoint: sh run\n"
    "searcher: {name: single, metric: x, max_length: 1}\n"
    "resources: {slots_per_trial: 1}\n"
    "max_restarts: 0\n";

bool contains(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// A cluster with a project directory, root:project, that both users reach.
struct Site : LoopbackCluster {
    fs::path const project = shared() / "project";
    fs::path const root = project / "det";
    fs::path const proof = shared() / "proof";  // where an entrypoint writes who it is

    Site() : LoopbackCluster(LoopbackOptions{.nodes = 1, .slots = 1}) {
        auto const group = parse_integer<gid_t>(shell("getent group project | cut -d: -f3"));
        BOOST_REQUIRE(group.has_value());
        fs::create_directory(project);
        BOOST_REQUIRE(::chown(project.c_str(), 0, *group) == 0);
        set_mode(project, 0755);
        must(write_file(proof, "", 0666));
        for (auto const& [user, word] : {std::pair("researcher", "mine"), std::pair("colleague", "theirs")}) {
            run_as(user,
                   fmt::format("mkdir code; printf '%s' 'echo {} $(id -un) >>{}' >code/run; printf '%s' "
                               "'{}' >x.yaml",
                               word, proof.string(), configuration));
        }
    }

    static void set_mode(fs::path const& path, mode_t mode) {
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
    }
    ProcessOutput try_as(std::string const& user, std::string const& script) const {
        return login(user, {"bash", "-c", fmt::format("cd ~ && {{ {}\n}}", script)}, 90s);
    }
    std::string run_as(std::string const& user, std::string const& script) const {
        auto const output = try_as(user, script);
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script + ": " + output.out + output.err);
        return std::string(trim(output.out));
    }
    std::string in(fs::path const& directory) const {
        return fmt::format("export DET_ROOT={}; ", directory.string());
    }
    /// Runs `det-submit COMMAND` as researcher, who has this root.
    ProcessOutput det(fs::path const& directory, std::string const& command) const {
        return try_as("researcher", in(directory) + "det-submit " + command);
    }
    void refuses(std::string const& command, std::string_view because) const {
        auto const output = det(root, command);
        BOOST_TEST(output.exit_code == 1);
        BOOST_TEST(contains(output.err, because), output.err);
        BOOST_TEST(contains(output.err, "[unsafe-owner]"), output.err);
    }
    std::string proved() const { return must(read_file(proof)); }

    /// Makes the project directory writable for the group, as an administrator would.
    void open_to_group() const { set_mode(project, 02775); }

    /// Submits an experiment whose jobs are held. Returns the number of the job.
    std::string create_held() const {
        auto const answer = nlohmann::json::parse(
            run_as("researcher", in(root) + "det-submit experiment create x.yaml code --paused --json"));
        return answer.at("job_id").get<std::string>();
    }
    /// colleague moves the user's root away and makes a root of his own in its place, with an experiment of
    /// the same number. His own site file makes his det-submit accept the directory. All may read the
    /// experiment, and the job can write its output there.
    void exchange_root() const {
        run_as("colleague",
               fmt::format("mv {0} {0}-gone; printf 'version: 1\\ntrusted_ancestors: [{1}]\\n' >site.yaml; "
                           "DET_SITE=$HOME/site.yaml DET_ROOT={0} det-submit experiment create x.yaml "
                           "code --paused && rm {0}/experiments/1/desired && chmod -R a+rwX {0}",
                           root.string(), project.string()));
    }
    /// Releases a held job, and waits until it has ended. Returns what Slurm says of it.
    std::string run_job(std::string const& job) const {
        run_as("researcher", "scontrol release " + job);
        std::string said;
        wait_until(
            [&] {
                said = run_as("researcher", "scontrol show job " + job);
                return contains(said, "JobState=COMPLETED") || contains(said, "JobState=FAILED");
            },
            60s, "job " + job + " ends");
        return said;
    }
    std::string output_of_job(std::string const& job) const {
        return must(read_file(root / "experiments/1" / fmt::format("slurm-{}_0.out", job)));
    }
};

}  // namespace attacks_directories

using namespace attacks_directories;

BOOST_AUTO_TEST_SUITE(attacks_directories)

BOOST_FIXTURE_TEST_CASE(a_root_that_a_colleague_has_exchanged_runs_nothing, Site) {
    set_mode(project, 0777);  // researcher makes his root
    run_as("researcher", fmt::format("mkdir -m 700 {}", root.string()));
    set_mode(project, 0755);
    auto const job = create_held();
    open_to_group();
    exchange_root();
    auto const said = run_job(job);
    BOOST_TEST(proved() == "");
    BOOST_TEST(contains(said, "JobState=FAILED"), said);
    BOOST_TEST(contains(said, "ExitCode=1:0"), said);
    auto const output = output_of_job(job);
    BOOST_TEST(contains(output, "its group can write into '" + project.string() + "'"), output);
    BOOST_TEST(contains(output, "owner root, group project, mode 2775"), output);
    BOOST_TEST(contains(output, "trusted_ancestors"), output);
    BOOST_TEST(contains(output, "[unsafe-owner]"), output);
}

BOOST_FIXTURE_TEST_CASE(commands_refuse_a_root_below_a_directory_of_a_group, Site) {
    open_to_group();
    run_as("researcher", fmt::format("mkdir -m 700 {}", root.string()));
    auto const because = "its group can write into '" + project.string() + "'";
    refuses("experiment create x.yaml code", because);
    BOOST_TEST(fs::is_empty(root));
    set_mode(project, 0755);
    create_held();
    open_to_group();
    for (auto const* command :
         {"experiment create x.yaml code", "experiment activate 1", "experiment fork 1", "experiment gc 1"}) {
        refuses(command, because);
    }
    BOOST_TEST(det(root, "experiment list").exit_code == 0);  // shows and ends experiments wherever they are
    BOOST_TEST(det(root, "experiment kill 1").exit_code == 0);
    refuses("experiment continue 1", because);
    refuses("experiment delete 1 --yes", because);
    set_mode(project, 03775);  // sticky: only he can rename it
    BOOST_TEST(det(root, "experiment fork 1 --paused").exit_code == 0);
    // A link in a sticky directory is trusted if it is the user's, and its target is judged too.
    run_as("researcher", fmt::format("ln -s {} {}/link", root.string(), project.string()));
    BOOST_TEST(det(project / "link", "experiment create x.yaml code --paused").exit_code == 0);
    run_as("colleague", fmt::format("ln -s {} {}/their-link", root.string(), project.string()));
    auto const refused = det(project / "their-link", "experiment create x.yaml code --paused");
    BOOST_TEST(contains(refused.err, "belongs to another user (owner colleague"), refused.err);
}

BOOST_FIXTURE_TEST_CASE(a_site_can_trust_the_directory_of_a_project_but_not_what_a_colleague_puts_there,
                        Site) {
    open_to_group();
    run_as("researcher",
           fmt::format("mkdir -m 700 {}; printf 'version: 1\\ntrusted_ancestors: [{}]\\n' >site.yaml; "
                       "cp -r code {}/code",
                       root.string(), project.string(), project.string()));
    auto const site = "export DET_SITE=$HOME/site.yaml; ";
    run_as("researcher", in(root) + site + "det-submit experiment create x.yaml " + project.string() +
                             "/code && det-submit experiment wait 1 --timeout 60");
    BOOST_TEST(proved() == "mine researcher\n");
    auto const script = must(read_file(root / "experiments/1/script.sbatch"));
    BOOST_TEST(contains(script, "trial --trusted-ancestors " + project.string() + " --experiment"), script);
    // A site without the list refuses the same root.
    refuses("experiment fork 1", "its group can write into '" + project.string() + "'");
    run_as("researcher", "rm -r " + root.string() + "/experiments");
    auto const answer = nlohmann::json::parse(
        run_as("researcher", in(root) + site + "det-submit experiment create x.yaml code --paused --json"));
    auto const job = answer.at("job_id").get<std::string>();
    must(write_file(proof, "", 0666));
    exchange_root();
    BOOST_TEST(contains(run_job(job), "JobState=FAILED"));
    BOOST_TEST(proved() == "");
    BOOST_TEST(contains(output_of_job(job), "belongs to another user (owner colleague"), output_of_job(job));
}

BOOST_FIXTURE_TEST_CASE(a_home_with_umask_002_works_and_one_that_a_project_can_write_does_not, Site) {
    set_mode(home(), 0775);  // researcher:researcher
    run_as("researcher",
           "umask 002; mkdir -p work/det work/code/sub; cp code/run work/code; touch work/code/sub/file");
    auto const root_at_home = home() / "work/det";
    BOOST_TEST(run_as("researcher", "stat -c %a work") == "775");
    auto const output = try_as("researcher", in(root_at_home) +
                                                 "umask 002; det-submit experiment create x.yaml "
                                                 "work/code && det-submit experiment wait 1 --timeout "
                                                 "60");
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(!contains(output.err, "warning"), output.err);
    BOOST_TEST(proved() == "mine researcher\n");
    run_as("researcher", "chgrp project work");
    auto const refused = det(root_at_home, "experiment create x.yaml code");
    BOOST_TEST(refused.exit_code == 1);
    BOOST_TEST(contains(refused.err, "group project, mode 0775"), refused.err);
}

BOOST_FIXTURE_TEST_CASE(code_and_templates_that_others_can_write_are_refused, Site) {
    auto const create = [&](std::string const& options) {
        return det(home() / "det", "experiment create x.yaml code --paused " + options);
    };
    run_as("researcher", "mkdir -p code/a/b && touch code/a/b/file && chmod 777 code/a/b");
    auto const directory = create("");
    BOOST_TEST(directory.exit_code == 1);
    BOOST_TEST(contains(directory.err, "every user can write 'code/a/b'"), directory.err);
    BOOST_TEST(contains(directory.err, "chmod o-w 'code/a/b'"), directory.err);
    run_as("researcher", "chmod 755 code/a/b && chmod 666 code/a/b/file");
    BOOST_TEST(contains(create("").err, "every user can write 'code/a/b/file'"));
    run_as("researcher", "chmod 644 code/a/b/file && chgrp project code/a && chmod 2775 code/a");
    auto const shared_code = create("");
    BOOST_TEST(shared_code.exit_code == 0, shared_code.err);
    BOOST_TEST(contains(shared_code.err, "warning: a group or another user can write 'code/a'"),
               shared_code.err);
    run_as("researcher", "chmod 755 code/a");
    // The code of a directory that a colleague could rename.
    open_to_group();
    run_as("researcher", fmt::format("cp -r code {}/code", project.string()));
    auto const below = det(home() / "det", fmt::format("experiment create x.yaml {}/code", project.string()));
    BOOST_TEST(below.exit_code == 1);
    BOOST_TEST(contains(below.err, "its group can write into '" + project.string() + "'"), below.err);

    set_mode(project, 0755);
    auto const templates = shared() / "templates";
    fs::create_directory(templates);
    fs::permissions(templates, fs::perms(0755));
    must(write_file(templates / "team.yaml", "description: team\n", 0664));
    struct stat info {};
    BOOST_REQUIRE(::stat(project.c_str(), &info) == 0);
    BOOST_REQUIRE(::chown((templates / "team.yaml").c_str(), 0, info.st_gid) == 0);
    auto const with_template = [&] {
        return try_as("researcher",
                      fmt::format("export DET_TEMPLATES={}; {} det-submit experiment create x.yaml code "
                                  "--paused --template team",
                                  templates.string(), in(home() / "det")));
    };
    auto const refused = with_template();
    BOOST_TEST(refused.exit_code == 1);
    BOOST_TEST(contains(refused.err, "can write the shared template"), refused.err);
    set_mode(templates / "team.yaml", 0644);
    BOOST_TEST(with_template().exit_code == 0);
    BOOST_REQUIRE(::chown(templates.c_str(), 0, info.st_gid) == 0);
    set_mode(templates, 02775);
    BOOST_TEST(contains(with_template().err, "its group can write into '" + templates.string() + "'"));
}

BOOST_AUTO_TEST_SUITE_END()
