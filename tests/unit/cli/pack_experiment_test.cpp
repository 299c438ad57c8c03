// Commands that show experiments give the same answers after `experiment archive --pack`, and commands that
// change them say how to unpack.
#include <det/experiment_pack/pack_lock.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>
#include <sys/stat.h>

#include "checkpoint_support.hpp"
#include "command.hpp"

using namespace det;
using namespace det::cli;

namespace pack_experiment_test {

namespace fs = std::filesystem;

struct Answer {
    int code = 0;
    std::string out, err;
    std::map<std::string, std::string> files;  // of the directory `target`
};

struct PackFixture : CheckpointFixture {
    ExperimentLayout const packed{root, {1}};
    fs::path const target = directory / "target";

    PackFixture() {
        cache = directory / "cache";
        environment.set("DET_INDEX_DIR", make_private("index"));
        environment.set("HOME", directory.path().string());
        record_sums();
        auto const run_layout = packed.trial(0).run(0);
        must(write_file(run_layout.node_log(0),
                        "2026-11-21T12:01:30.000000Z [rank=0] trained\n"
                        "2026-11-21T12:01:31.000000Z [rank=1] too\n"));
        must(write_file(packed.config(), "name: a\n"));
        must(make_directories(packed.trial(0).event_files()));
        must(write_file(packed.trial(0).event_files() / "events.out.tfevents.1.det", "events"));
        must(make_directories(packed.trial(0).generation(0).files()));
        must(write_file(packed.trial(0).generation(0).files() / "mine", std::string(100'000, 'x')));
        must(write_file(packed.slurm_output("4711_0"), "srun: done\n"));
        BOOST_REQUIRE_MESSAGE(run("model create digits") == 0, err);
        BOOST_REQUIRE_MESSAGE(run("model register-version digits " + ended[2]) == 0, err);
    }

    std::string make_private(std::string const& name) const {
        must(make_directories(directory / name));
        return (directory / name).string();
    }

    /// Writes the journal of the chief again, with the sums of the manifests.
    void record_sums() const {
        auto const path = packed.trial(0).run(0).chief_journal();
        auto contents = must(journal::load_journal(path));
        fs::remove(path);
        auto journal = must(journal::JournalWriter::create(path));
        for (auto& record : contents.records) {
            if (auto* const committed = std::get_if<CheckpointCommitted>(&record))
                committed->manifest_sha256 = must(store.load_manifest(committed->uuid)).sha256;
            must(journal.append(record));
        }
    }

    /// Changes what the manifest says, with a checksum that is right: only the journal tells.
    void damage_manifest(std::string const& uuid) const {
        auto manifest = must(store.load_manifest(uuid));
        manifest.metadata = Json{{"steps_completed", 77}};
        must(write_file(store.path_of(uuid) / manifest_name, render_manifest(manifest)));
    }

    Answer answer(std::string const& line) {
        std::error_code ignored;
        fs::remove_all(target, ignored);
        Answer answer;
        answer.code = run(line);
        answer.out = out;
        answer.err = err;
        if (!fs::exists(target)) return answer;
        if (fs::is_regular_file(target)) {
            answer.files[""] = must(read_file(target));
            return answer;
        }
        for (auto const& entry : fs::recursive_directory_iterator(target)) {
            if (entry.is_regular_file())
                answer.files[entry.path().lexically_relative(target)] = must(read_file(entry.path()));
        }
        return answer;
    }
    void pack() { BOOST_REQUIRE_MESSAGE(run("experiment archive --pack 1") == 0, err); }
};

/// Lines of each command that shows experiments.
std::vector<std::string> shown_lines(PackFixture const& scene) {
    auto const to = " " + scene.target.string(), uuid = scene.ended[0];
    std::vector<std::string> lines{"experiment list",
                                   "experiment list --all",
                                   "experiment describe 1",
                                   "experiment config 1",
                                   "experiment download-model-def 1 -o" + to,
                                   "experiment download 1 -o" + to,
                                   "experiment list-trials 1",
                                   "experiment best 1",
                                   "experiment compare 1 2",
                                   "experiment report 1",
                                   "experiment export 1 --tensorboard" + to,
                                   "experiment export 1 --mlflow" + to,
                                   "experiment list-checkpoints 1",
                                   "experiment logs 1",
                                   "experiment wait 1",
                                   "trial describe 1.0 --metrics",
                                   "trial download 1.0 -o" + to,
                                   "trial logs 1.0",
                                   "trial metrics 1.0",
                                   "trial metrics 1.0 --plot",
                                   "trial profile 1.0",
                                   "checkpoint list 1",
                                   "checkpoint describe " + uuid,
                                   "checkpoint verify " + uuid,
                                   "checkpoint download " + uuid + " -o" + to,
                                   "checkpoint export " + uuid + to,
                                   "model list",
                                   "model describe digits",
                                   "model list-versions digits",
                                   "task list",
                                   "task logs 1.0",
                                   "resource-pool list",
                                   "job list",
                                   "tracker export 1.0",
                                   "search preview 1",
                                   "tracker check",
                                   "tensorboard 1"};
    std::vector<std::string> all;
    for (auto const& line : lines) {
        all.push_back(line);
        if (!line.starts_with("experiment export") && line != "tracker export 1.0")
            all.push_back(line + " --json");
    }
    return all;
}

/// Commands that show the root and are in no line.
bool is_shown_elsewhere(CommandEntry const& entry) {
    static std::set<std::string_view> const live{
        "top",          "web",           "job watch",       "tracker start",         "tracker status",
        "tracker stop", "tracker serve", "tracker rebuild", "resource-pool describe"};
    auto const name =
        entry.group.empty() ? std::string(entry.name) : fmt::format("{} {}", entry.group, entry.name);
    return live.contains(name);
}

/// A cached file has another path; the time of the end of a process and others are the same.
std::string without_places(std::string text, PackFixture const& scene) {
    static std::regex const cached(scene.cache.string() + "/unpacked/[0-9a-f]+-1-[0-9]+/");
    return std::regex_replace(text, cached, scene.root.path().string() + "/");
}

}  // namespace pack_experiment_test

BOOST_FIXTURE_TEST_SUITE(pack_experiment_test, PackFixture)

BOOST_AUTO_TEST_CASE(each_command_that_shows_gives_the_same_answer_for_a_packed_experiment) {
    auto const lines = shown_lines(*this);
    for (auto const& entry : command_table()) {
        if (entry.root_use != RootUse::shows || is_shown_elsewhere(entry)) continue;
        auto const name =
            entry.group.empty() ? std::string(entry.name) : fmt::format("{} {}", entry.group, entry.name);
        BOOST_TEST(std::ranges::any_of(lines, [&](auto const& line) { return line.starts_with(name); }),
                   "the command '" << name << "' is not compared");
    }
    BOOST_REQUIRE_MESSAGE(run("tracker rebuild") == 0, err);
    std::vector<Answer> before;
    for (auto const& line : lines) before.push_back(answer(line));
    auto const succeeded = std::ranges::count_if(before, [](auto const& each) { return each.code == 0; });
    BOOST_TEST(succeeded >= static_cast<long>(lines.size()) - 8);
    pack();
    BOOST_TEST(must(list_directory(packed.path())) == std::vector<std::string>{"pack"});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const now = answer(lines[i]);
        BOOST_TEST(now.code == before[i].code, lines[i] << ": " << now.err);
        BOOST_TEST(without_places(now.out, *this) == before[i].out, lines[i] << "\n" << now.out);
        BOOST_TEST(without_places(now.err, *this) == before[i].err, lines[i] << "\n" << now.err);
        BOOST_TEST((now.files == before[i].files), lines[i]);
    }
    // An index that is made of packed experiments.
    BOOST_REQUIRE_MESSAGE(run("tracker rebuild") == 0, err);
    BOOST_TEST(run("tracker check") == 0, err << out);
    BOOST_TEST(contains(out, "2 experiments: the index has what the journals have"), out);
    BOOST_REQUIRE_MESSAGE(run("experiment archive --unpack 1") == 0, err);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const now = answer(lines[i]);
        BOOST_TEST(now.out == before[i].out, lines[i] << "\n" << now.out);
    }
}

BOOST_AUTO_TEST_CASE(commands_that_change_a_packed_experiment_say_how_to_unpack_it) {
    pack();
    auto const pack_file = must(read_file(packed.pack()));
    for (std::string const line :
         {"experiment archive 1", "experiment unarchive 1", "experiment set name 1 x",
          "experiment set description 1 x", "experiment set notes 1 x", "experiment set gc-policy 1 --yes",
          "experiment set log-retention 1 --forever", "experiment set max-slots 1 8",
          "experiment set max-concurrent-trials 1 2",

          "experiment label add 1 x", "experiment label remove 1 x", "experiment gc 1", "experiment pause 1",
          "experiment activate 1", "experiment cancel 1", "experiment kill 1", "experiment continue 1",
          "experiment delete 1 --yes", "trial kill 1.0"}) {
        BOOST_TEST(run(line) == to_int(ExitCode::could_not), line << ": " << err);
        BOOST_TEST(contains(err, "experiment 1 is packed"), line << ": " << err);
        BOOST_TEST(contains(err, "det-submit experiment archive --unpack 1"), line << ": " << err);
    }
    for (auto const& line : {"checkpoint set metadata " + ended[0] + " {}",
                             "checkpoint rm --glob * " + ended[0], "checkpoint delete --yes " + ended[0]}) {
        BOOST_TEST(run(line) != 0, line << ": " << err);
        BOOST_TEST(is_there(ended[0]), line);
    }
    BOOST_TEST(must(read_file(packed.pack())) == pack_file);
    BOOST_TEST(must(list_directory(packed.path())) == std::vector<std::string>{"pack"});
    BOOST_TEST(run("experiment list") == 0, err);
    // Other experiments still find its checkpoints, and their garbage collection keeps what it refers to.
    BOOST_TEST(run("experiment gc 2 --dry-run") == 0, err);
    BOOST_TEST(run("checkpoint verify " + ended[1]) == 0, err);
    damage_manifest(ended[1]);
    BOOST_TEST(run("checkpoint verify " + ended[1]) == to_int(ExitCode::damaged), err);
}

BOOST_AUTO_TEST_CASE(only_an_experiment_that_has_ended_is_packed) {
    BOOST_TEST(run("experiment archive --pack 2") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "only an experiment that has ended is packed"), err);
    BOOST_TEST(run("experiment archive --pack 99") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment archive --unpack 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "experiment 1 is not packed"), err);
    BOOST_TEST(run("experiment archive --unpack 99") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment archive --pack --unpack 1") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment archive -o /tmp 1") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment archive --pack -o /nowhere 1") == to_int(codes::not_a_directory.exit));
    BOOST_TEST(contains(err, "'/nowhere' is not a directory"), err);
    must(write_file(packed.path() / "gc.lock", "2026-11-21T12:00:00.000000Z\n"));
    BOOST_TEST(run("experiment archive --pack 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "checkpoints of experiment 1 are being removed"), err);
    fs::remove(packed.path() / "gc.lock");
    {
        BOOST_REQUIRE_MESSAGE(run("model delete digits --yes") == 0, err);
        auto const lock = must(experiment_pack::PackLock::take(packed.path(), {}));
        BOOST_TEST(run("experiment delete 1 --yes") == to_int(ExitCode::could_not));
        BOOST_TEST(contains(err, "another process packs, unpacks, continues or deletes experiment 1"), err);
        BOOST_TEST(is_there(ended[0]));
    }
    auto const archive = make_private("archive");
    auto const report = ask("experiment archive --pack -o " + archive + " 1");
    BOOST_TEST(report.at("pack") == archive + "/experiment-1.detpack");
    BOOST_TEST(ask("experiment describe 1").at("state") == "COMPLETED");
    BOOST_TEST(run("dump " + archive + "/experiment-1.detpack") == 0, err);
    BOOST_TEST(contains(out, "trials/0/generations/0/files/mine"), out);
    BOOST_TEST(contains(out, ended[1]), out);  // in the sums of manifests
    auto bytes = must(read_file(archive + "/experiment-1.detpack"));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    must(write_file(directory / "damaged", bytes));
    BOOST_TEST(run("dump " + (directory / "damaged").string()) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "damaged"), err);
    BOOST_TEST(run("experiment archive --pack 1") == 0, err);  // there is nothing left to do
    BOOST_TEST(run("experiment archive --unpack 1") == 0, err);
    BOOST_TEST(must(list_directory(archive)).empty());
}

BOOST_AUTO_TEST_CASE(a_pack_waits_until_the_job_of_an_ended_experiment_has_left_slurm) {
    using namespace std::chrono_literals;
    slurm.other_jobs = {job_of(1, slurm::JobState::running, "RUNNING")};
    BOOST_TEST(run("experiment archive --pack 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "experiment 1 has ended, and its job is in Slurm after 60 s more"), err);
    BOOST_TEST(!path_exists(packed.pack()));
    clock.on_sleep = [this, begin = clock.steady_now().time_since_epoch()](auto elapsed) {
        if (elapsed - begin >= 59s) slurm.other_jobs.clear();
    };
    BOOST_TEST(run("experiment archive --pack 1") == 0, err);
    BOOST_TEST(path_exists(packed.pack()));
}

BOOST_AUTO_TEST_SUITE_END()
