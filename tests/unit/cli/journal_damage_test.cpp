// Damaged journals: each command gives the right answer or an error that names the journal.
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>
#include <det/search/rung.hpp>
#include <det/search/trial_search.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "cli_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace journal_damage_test {

// Commands that answer from the journals of experiment 1 or decide by them.
constexpr char const* commands[] = {
    "experiment list",
    "experiment list --json --metrics",
    "experiment describe 1",
    "experiment describe 1 --json",
    "experiment list-trials 1",
    "experiment list-checkpoints 1",
    "experiment list-checkpoints 1 --best 1",
    "experiment report 1",
    "experiment report 1 --json",
    "experiment compare 1 3",
    "experiment wait 1",
    "experiment gc 1 --dry-run",
    "trial describe 1.0",
    "trial describe 1.0 --json",
    "trial metrics 1.0",
    "trial metrics 1.0 --csv",
    "trial metrics 1.0 --json",
    "experiment best 1",
};

// Those for experiment 20, a search or a training with many ranks.
std::vector<char const*> const commands_on_a_search = {
    "experiment list --json --metrics",
    "experiment describe 20 --json",
    "experiment describe 20 --search --json",
    "experiment list-trials 20 --by-metric --json",
    "experiment list-checkpoints 20 --best 1 --json",
    "experiment report 20 --json",
    "experiment best 20 --json",
    "experiment gc 20 --dry-run --json",
    "trial describe 20.1 --json",
    "trial metrics 20.1 --json",
};

struct Answer {
    int code;
    std::string out;
};

/// A kind of experiment, with what the chief of its trials reports.
struct Kind {
    std::string what;
    SearcherSpec searcher;
    std::vector<Record> reports;
    std::uint32_t id = 20;
};

std::vector<Record> const core_api_reports{
    FirstStep{minute(2)},
    StatusSet{minute(2), "warming up"},
    TrialMetadataSet{minute(2), Json{{"git", "3f2a"}}},
    MetricsReported{minute(3), "training", 50, Json{{"loss", 0.5}}},
    ProgressReported{minute(3), 0.5},
    OperationCompleted{minute(4), 100, 0.25},
    MetricsReported{minute(4), "validation", 100, Json{{"loss", 0.25}, {"text", "good"}}},
    CheckpointBegun{minute(4), "00000000-0000-4000-8000-000000000011", 100},
    CheckpointCommitted{minute(5), "00000000-0000-4000-8000-000000000011", 100,
                        Json{{"rank-0.bin", 512}, {"rank-1.bin", 512}},
                        Json{{"steps_completed", 100}, {"sharded", true}}, 0.5, std::string(64, 'a')},
    AlertRaised{minute(5), "slow", "data loading takes 80 %", "warn"},
    ReportsDropped{minute(5), 3, "the queue of reports was full"},
};
std::vector<Record> const pytorch_trial_reports{
    FirstStep{minute(2)},
    MetricsReported{minute(3), "training", 100, Json{{"loss", 0.5}, {"avg_metrics", {{"loss", 0.5}}}}},
    MetricsReported{minute(4), "validation", 100, Json{{"loss", 0.25}}},
    CheckpointBegun{minute(4), "00000000-0000-4000-8000-000000000012", 100},
    CheckpointCommitted{
        minute(5),
        "00000000-0000-4000-8000-000000000012",
        100,
        Json{{"state_dict.pth", 4096}, {"rank-0.pth", 64}, {"trial_state.pkl", 99}, {"code/", 0}},
        Json{{"steps_completed", 100}, {"framework", "torch-2.1.0"}, {"format", "pickle"}},
        {},
        std::string(64, 'b')},
    EarlyExitReported{minute(6), "USER_REQUESTED_STOP"},
};
std::vector<Record> const short_reports{
    MetricsReported{minute(4), "validation", 100, Json{{"loss", 0.25}}},
    CheckpointCommitted{minute(5), "00000000-0000-4000-8000-000000000013", 100, Json{{"weights", 512}},
                        Json{{"steps_completed", 100}}},
};

std::vector<Kind> kinds() {
    Json const halving{
        {"num_rungs", 2}, {"max_trials", 2}, {"divisor", 2}, {"max_length", {{"batches", 400}}}};
    auto adaptive = halving;
    adaptive["mode"] = "standard";
    adaptive.erase("num_rungs");
    adaptive["max_rungs"] = 2;
    return {{"Core API with several ranks", {"single", "loss", true, Json::object()}, core_api_reports},
            {"PyTorchTrial", {"single", "loss", true, Json::object()}, pytorch_trial_reports},
            {"two trials", {"random", "loss", true, Json{{"max_trials", 2}}}, short_reports},
            {"two trials", {"grid", "loss", true, Json::object()}, short_reports},
            {"rungs", {"async_halving", "loss", true, halving}, short_reports},
            {"rungs", {"adaptive_asha", "loss", true, adaptive}, short_reports}};
}

/// The offsets of bits that are changed: in the header, and in size, type, checksum, first, middle and last
/// payload byte of each frame.
std::vector<std::size_t> bits_to_change(std::string const& bytes) {
    std::vector<std::size_t> bits{0 * 8 + 1, 9 * 8, 13 * 8 + 2};
    std::size_t at = journal::header_size_bytes;
    for (auto frame = journal::read_frame(bytes); at < bytes.size(); at += frame.size_bytes) {
        frame = journal::read_frame(std::string_view(bytes).substr(at));
        auto const last = frame.size_bytes - 1;
        for (auto const byte : {std::size_t{0}, std::size_t{2}, std::size_t{4}, std::size_t{9},
                                journal::frame_head_size_bytes, last / 2, last})
            bits.push_back((at + byte) * 8 + byte % 7);
    }
    return bits;
}

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    Answer answer(char const* command) {
        auto const code = run(command);
        return {code, out};
    }
    /// Creates experiment 20 with two trials, of which the second one has ended.
    void write_experiment(Kind const& kind) const {
        auto const experiment = create_example(root, kind.id, kind.what);
        auto spec = must(parse_spec(must(read_file(experiment.spec()))));
        spec.searcher = kind.searcher;
        spec.hyperparameters =
            Json{{"layers", {{"type", "int"}, {"minval", 1}, {"maxval", 2}, {"count", 2}}}};
        spec.experiment_seed = 42;
        spec.trial_count = 2;
        must(write_file(experiment.spec(), render_spec(spec)));
        for (std::uint32_t trial = 0; trial < 2; ++trial) {
            auto const run = experiment.trial(trial).run(0);
            must(make_directories(run.path()));
            auto chief = must(journal::JournalWriter::create(run.chief_journal()));
            for (auto const& record : kind.reports) must(chief.append(record));
            auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
            must(
                life.append(RunStarted{minute(1), "4730_" + std::to_string(trial), 0, "n0", "n0", 0, "", 0}));
            must(life.append(JobAllocated{minute(1), minute(1), minute(0), {}, 1}));
            if (search::is_asha(kind.searcher.name)) arrive(experiment, life, trial);
            must(life.append(finish(6)));
        }
        auto other = must(journal::JournalWriter::create(experiment.trial(1).run(0).rank_journal(Rank{1})));
        must(other.append(MetricsReported{minute(3), "training", 50, Json{{"loss", 0.75}}, Rank{1}}));
    }
    /// The trial arrives at the first rung, trains on, and completes.
    static void arrive(ExperimentLayout const& experiment, journal::JournalWriter& life,
                       std::uint32_t trial) {
        search::RungEntry const entry{trial, 0.25};
        for (std::uint32_t rung = 0; rung < 2; ++rung) {
            must(make_directories(experiment.rung(0, rung)));
            must(write_file(experiment.rung(0, rung) / search::rung_entry_name(entry), ""));
            must(life.append(SearchDecision{
                minute(4), 100 + 300 * rung, 0, rung, search::rung_entry_name(entry), std::to_string(trial),
                search::digest_of(std::vector{entry}), 0, 1, rung == 0 ? "advance" : "complete"}));
        }
    }
    std::vector<std::filesystem::path> journals_of(Kind const& kind) const {
        auto const run = ExperimentLayout(root, {kind.id}).trial(1).run(0);
        return {run.supervisor_journal(), run.chief_journal(), run.rank_journal(Rank{1})};
    }
    /// Changes bits of the journals, one at a time. Each command must answer as before, or must name the
    /// journal in an error. Returns the number of errors.
    int change_bits(std::vector<std::filesystem::path> const& journals,
                    std::vector<char const*> const& asked) {
        std::vector<Answer> right;
        for (auto const* command : asked) right.push_back(answer(command));
        for (std::size_t i = 0; i < asked.size(); ++i)
            BOOST_REQUIRE_MESSAGE(right[i].code < 2, asked[i] << ": " << right[i].code << right[i].out);
        int reported = 0;
        for (auto const& path : journals) {
            auto const bytes = must(read_file(path));
            for (auto const bit : bits_to_change(bytes)) {
                auto changed = bytes;
                changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
                must(write_file(path, changed));
                for (std::size_t i = 0; i < asked.size(); ++i) {
                    auto const got = answer(asked[i]);
                    bool const is_right = got.code == right[i].code && got.out == right[i].out;
                    bool const is_reported = got.code == to_int(ExitCode::damaged) &&
                                             contains(err, path.string()) &&
                                             contains(err, "[journal-damaged]");
                    BOOST_TEST((is_right || is_reported), asked[i] << " with bit " << bit << " of " << path
                                                                   << ": " << got.code << "\n"
                                                                   << got.out << err);
                    reported += is_reported ? 1 : 0;
                }
            }
            must(write_file(path, bytes));
        }
        return reported;
    }
    RunLayout run_of(std::uint32_t number) const { return ExperimentLayout(root, {1}).trial(0).run(number); }
};

}  // namespace journal_damage_test

BOOST_FIXTURE_TEST_SUITE(journal_damage_test, Fixture)

BOOST_AUTO_TEST_CASE(each_changed_bit_gives_the_right_answer_or_an_error_that_names_the_journal) {
    std::vector<std::filesystem::path> journals;
    for (std::uint32_t const number : {0u, 1u}) {
        journals.push_back(run_of(number).supervisor_journal());
        journals.push_back(run_of(number).chief_journal());
    }
    BOOST_TEST(change_bits(journals, {std::begin(commands), std::end(commands)}) > 200);
}

BOOST_AUTO_TEST_CASE(each_changed_bit_of_each_kind_of_experiment_is_harmless_or_reported) {
    for (auto const& kind : kinds()) {
        BOOST_TEST_CONTEXT(kind.searcher.name << ": " << kind.what) {
            write_experiment(kind);
            BOOST_TEST(change_bits(journals_of(kind), commands_on_a_search) > 50);
            must(remove_tree(ExperimentLayout(root, {kind.id}).path()));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_byte_in_a_journal_of_10_mb_costs_its_record_only) {
    auto const experiment = create_example(root, 4);
    must(start_run(experiment, 0, 1).append(finish(20)));
    auto const path = experiment.trial(0).run(0).chief_journal();
    constexpr std::size_t reports = 100'000;
    {
        auto chief = must(journal::JournalWriter::create(path));
        for (std::size_t i = 1; i <= reports; ++i) {
            must(chief.append(MetricsReported{minute(2), "training", i,
                                              Json{{"loss", 1.0 / static_cast<double>(i)}, {"lr", 0.125}}}));
        }
    }
    auto const whole = must(read_file(path));
    BOOST_REQUIRE(whole.size() > 10'000'000u);
    for (double const place : {0.0001, 0.25, 0.5, 0.99999}) {
        auto changed = whole;
        changed[static_cast<std::size_t>(place * static_cast<double>(whole.size()))] ^= 4;
        must(write_file(path, changed));
        BOOST_TEST(run("trial metrics 4.0 --json") == to_int(ExitCode::damaged));
        BOOST_TEST(contains(err, path.string()), err);
        BOOST_TEST(parse_json(out).size() == reports - 1);
        BOOST_TEST(run("experiment gc 4") == to_int(ExitCode::damaged));
    }
}

BOOST_AUTO_TEST_CASE(what_other_ranks_have_reported_is_shown_as_far_as_it_is_left) {
    auto const path = run_of(0).rank_journal(Rank{1});
    {
        auto rank = must(journal::JournalWriter::create(path));
        for (std::uint64_t step = 50; step <= 100; step += 50)
            must(rank.append(MetricsReported{minute(2), "training", step, Json{{"loss", 0.5}}, Rank{1}}));
    }
    auto const whole = ask("trial metrics 1.0");
    auto bytes = must(read_file(path));
    bytes.back() ^= 1;
    must(write_file(path, bytes));
    BOOST_TEST(run("trial metrics 1.0 --json") == to_int(ExitCode::damaged));
    BOOST_TEST(contains(err, path.string()), err);
    BOOST_TEST(parse_json(out).size() == whole.size() - 1);
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_damaged_journal_is_shown) {
    auto const whole = ask("trial metrics 1.0");
    auto const path = run_of(0).chief_journal();
    auto bytes = must(read_file(path));
    bytes[journal::header_size_bytes + journal::frame_head_size_bytes] ^= 1;
    must(write_file(path, bytes));
    BOOST_TEST(run("trial metrics 1.0 --json") == to_int(ExitCode::damaged));
    auto const left = parse_json(out);
    BOOST_TEST(left.size() == whole.size() - 1);
    BOOST_TEST(left.back() == whole.back());
}

BOOST_AUTO_TEST_CASE(after_the_user_has_accepted_the_damage_commands_answer_from_what_is_left) {
    auto const path = run_of(0).chief_journal();
    auto bytes = must(read_file(path));
    bytes[journal::header_size_bytes + journal::frame_head_size_bytes] ^= 1;
    must(write_file(path, bytes));
    BOOST_TEST(run("experiment gc 1") == to_int(ExitCode::damaged));
    BOOST_TEST(contains(err, "--accept-damage"), err);
    BOOST_TEST(run("experiment gc 1 --accept-damage") == 0, err);
    BOOST_TEST(contains(err, path.string()), err);
    BOOST_TEST(run("trial metrics 1.0") == 0, err);
    BOOST_TEST(run("experiment gc 1") == 0, err);
    BOOST_TEST(run({"dump", path.string()}) == to_int(ExitCode::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
