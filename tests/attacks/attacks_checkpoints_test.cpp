// A member of the same project puts checkpoints of his own into the storage of the project, which the site
// trusts.
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
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace attacks_checkpoints {

namespace fs = std::filesystem;

// The site file lists the storage in trusted_ancestors.
std::string const det_submit_command = "DET_SITE=~/site.yaml det-submit ";

struct Site : LoopbackCluster {
    fs::path storage = shared() / "pool";
    fs::path mark = shared() / "pool/mark";  // the forged pickle makes this file

    Site() : LoopbackCluster({.nodes = 1, .slots = 1}) {
        fs::create_directory(storage);
        auto const group = parse_integer<gid_t>(shell("getent group project | cut -d: -f3"));
        BOOST_REQUIRE(group.has_value());
        BOOST_REQUIRE(::chown(storage.c_str(), 0, *group) == 0);
        BOOST_REQUIRE(::chmod(storage.c_str(), 02775) == 0);
        shell(fmt::format("mkdir code; printf 'version: 1\\ntrusted_ancestors: [{}]\\n' >site.yaml",
                          storage.string()));
        for (auto const* name : {"pickled_training.py", "forge_checkpoint.py"}) {
            auto const text =
                must(read_file(det::test::source_path(std::string("tests/attacks/programs/") + name)));
            must(write_file(home() / "code" / name, text, 0644));
        }
        must(write_file(storage / "forge_checkpoint.py", must(read_file(home() / "code/forge_checkpoint.py")),
                        0644));
        must(write_file(home() / "exp.yaml",
                        fmt::format("name: pickled\n"
                                    "entrypoint: python3 pickled_training.py\n"
                                    "searcher: {{name: single, metric: loss}}\n"
                                    "resources: {{slots_per_trial: 1}}\n"
                                    "checkpoint_storage: {{type: shared_fs, host_path: {}}}\n"
                                    "max_restarts: 0\n",
                                    storage.string()),
                        0644));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell(det_submit_command + command + " --json"));
    }
    int create(std::string const& arguments = "") const {
        return ask("experiment create exp.yaml code " + arguments)["id"].get<int>();
    }
    std::string state(int id) const { return ask(fmt::format("experiment describe {}", id)).at("state"); }
    nlohmann::json runs(int id) const {
        return ask(fmt::format("experiment describe {}", id)).at("trials").at(0).at("runs");
    }
    std::vector<std::string> checkpoints(int id) const {
        std::vector<std::string> uuids;
        for (auto const& row : ask(fmt::format("experiment list-checkpoints {}", id)))
            uuids.push_back(row.at("uuid"));
        return uuids;
    }
    /// A paused trial with at least two checkpoints.
    int paused_trial() const {
        auto const id = create();
        wait_until([&] { return checkpoints(id).size() >= 2; }, 90s, "two checkpoints");
        shell(det_submit_command + fmt::format("experiment pause {}", id));
        wait_until([&] { return state(id) == "PAUSED"; }, 60s, "it is paused");
        return id;
    }
    void colleague(std::string const& script) const {
        auto const done = login("colleague", {"bash", "-c", "set -e; umask 022; " + script});
        BOOST_REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    }
    void forge(std::string const& uuid) const {
        colleague(fmt::format("python3 {0}/forge_checkpoint.py {0} {1} {2}", storage.string(), uuid,
                              mark.string()));
    }
    ProcessOutput det_submit(std::string const& arguments) const {
        return login("researcher", {"bash", "-c", "cd && " + det_submit_command + arguments});
    }
    std::string log(int id) const {
        return shell(det_submit_command + fmt::format("trial logs {} 2>/dev/null || true", id));
    }
    static bool contains(std::string const& text, std::string const& part) {
        return text.find(part) != std::string::npos;
    }
};

}  // namespace attacks_checkpoints

BOOST_FIXTURE_TEST_SUITE(attacks_checkpoints, Site)

BOOST_AUTO_TEST_CASE(a_checkpoint_that_another_user_puts_in_the_place_of_the_newest_one_is_never_loaded) {
    auto const id = paused_trial();
    auto const saved = checkpoints(id);
    auto const& newest = saved.back();
    colleague(fmt::format("cd {} && mv {} taken", storage.string(), newest));
    forge(newest);
    for (auto const* command : {"verify", "download"}) {
        auto const refused = det_submit(fmt::format("checkpoint {} {}", command, newest));
        BOOST_TEST(refused.exit_code == 8, command << ": " << refused.out << refused.err);
        BOOST_TEST(contains(refused.err, "is not the checkpoint that this run wrote"), refused.err);
        BOOST_TEST(contains(refused.err, "[checkpoint-replaced]"), refused.err);
        // A journal knows the checkpoint: that its owner is trusted does not make it the one that was saved.
        auto const trusting =
            det_submit(fmt::format("checkpoint {} {} --trust-owner colleague", command, newest));
        BOOST_TEST(trusting.exit_code == 8, trusting.out << trusting.err);
    }
    auto const source = det_submit(
        fmt::format("experiment create exp.yaml code --config searcher.source_checkpoint_uuid={}", newest));
    BOOST_TEST(source.exit_code == 8, source.out << source.err);

    shell(det_submit_command + fmt::format("experiment activate {}", id));
    wait_until([&] { return runs(id).size() == 2u; }, 60s, "a second run");
    wait_until([&] { return contains(log(id), "resumed at step") && checkpoints(id).size() > saved.size(); },
               90s, "it trains on");
    BOOST_TEST(runs(id).at(1).at("latest_checkpoint") == saved[saved.size() - 2]);
    auto const output = shell(fmt::format("cat {}/det/experiments/{}/slurm-*.out", shared().string(), id));
    BOOST_TEST(
        contains(output, "not used: checkpoint " + newest + " is not the checkpoint that this run wrote"),
        output);
    shell(det_submit_command + fmt::format("experiment kill {}", id));
    BOOST_TEST(!path_exists(mark));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_user_is_used_only_by_one_who_names_him) {
    std::string const uuid = "0a1b2c3d-0000-4000-8000-000000000000";
    forge(uuid);
    auto const copy = create("--config entrypoint=true");  // the root knows the storage from now on
    shell(det_submit_command + fmt::format("experiment wait {}", copy));
    for (auto const& command :
         {"checkpoint verify " + uuid, "checkpoint download " + uuid,
          "experiment create exp.yaml code --config searcher.source_checkpoint_uuid=" + uuid}) {
        auto const refused = det_submit(command);
        BOOST_TEST(refused.exit_code == 8, command << ": " << refused.out << refused.err);
        BOOST_TEST(contains(refused.err, "belongs to colleague"), refused.err);
        BOOST_TEST(contains(refused.err, "--trust-owner colleague"), refused.err);
        BOOST_TEST(det_submit(command + " --trust-owner nobody_here").exit_code == 2);
    }
    BOOST_TEST(!path_exists(mark));
    shell(det_submit_command + fmt::format("checkpoint verify {} --trust-owner colleague", uuid));
    shell(det_submit_command + fmt::format("checkpoint download {} -o copy --trust-owner colleague", uuid));
    auto const id = create("--config searcher.source_checkpoint_uuid=" + uuid + " --trust-owner colleague");
    wait_until([&] { return contains(log(id), "resumed at step 777"); }, 90s,
               "it starts from the checkpoint");
    shell(det_submit_command + fmt::format("experiment kill {}", id));
}

BOOST_AUTO_TEST_SUITE_END()
