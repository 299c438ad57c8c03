// `experiment create` is killed at each of its system calls. Afterwards there is no experiment, a complete
// one, or one whose state shows that its creation was cut off, and the next creation succeeds.
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "create_support.hpp"
#include "traced_command.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace create_killed_test {

/// The fake Slurm of the killed process writes its calls to a file, where the test reads them.
struct KilledFixture : CreateFixture {
    std::filesystem::path const asked = directory / "asked";

    bool create_and_kill(int stop) {
        return run_and_kill(stop, [this] {
            slurm.on_call = [this](std::string const& call) {
                std::ofstream(asked, std::ios::app) << call << '\n';
            };
            return create();
        });
    }

    bool had_asked(std::string const& call) const {
        auto const text = read_file(asked);
        return text && contains(*text, call);
    }

    void check_what_is_left() {
        auto const before = ask("experiment list");
        BOOST_REQUIRE(before.size() <= 1u);
        bool const is_whole = !before.empty() && before[0]["state"] != "SUBMITTING";
        if (had_asked("release")) BOOST_REQUIRE(is_whole);
        if (is_whole) BOOST_REQUIRE(before[0]["name"] == "example");
        if (!before.empty() && !is_whole) {
            BOOST_REQUIRE(run("experiment activate 1") == to_int(ExitCode::could_not));
            BOOST_REQUIRE(run("experiment kill 1") == 0);
            BOOST_REQUIRE(ask("experiment list")[0]["state"] == "CANCELED");
        }
        BOOST_REQUIRE_MESSAGE(create() == 0, err);
        BOOST_REQUIRE(ask("experiment list").size() == before.size() + 1);
    }
};

}  // namespace create_killed_test

BOOST_AUTO_TEST_SUITE(create_killed_test)

BOOST_AUTO_TEST_CASE(a_creation_killed_at_any_system_call_leaves_a_whole_experiment_or_none) {
    constexpr int stops_max = 20'000;
    int stop = 0;
    for (bool was_killed = true; was_killed; ++stop) {
        BOOST_REQUIRE(stop < stops_max);
        KilledFixture scene;
        BOOST_TEST_CONTEXT("killed at stop " << stop) {
            was_killed = scene.create_and_kill(stop);
            scene.check_what_is_left();
        }
    }
    BOOST_TEST_MESSAGE("killed " << stop - 1 << " times");
    BOOST_TEST(stop > 100);
}

BOOST_AUTO_TEST_CASE(an_experiment_with_submitted_jobs_is_on_disk) {
    CreateFixture scene;
    auto const synced = list_synced([&] { return scene.create(); });
    auto const experiment = scene.experiment(1);
    for (auto const& path : {scene.root.experiments(), experiment.path(), experiment.events()})
        BOOST_TEST(synced.contains(path), path);
    // The bytes of the event are on the disk before it has its name.
    BOOST_TEST(std::ranges::any_of(synced, [&](auto const& path) {
        return path.parent_path() == experiment.events() &&
               path.filename().string().starts_with(".1-created.json.");
    }));
}

BOOST_AUTO_TEST_SUITE_END()
