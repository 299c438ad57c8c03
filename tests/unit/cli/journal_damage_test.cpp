// Damaged journals: each command gives the right answer or an error that names the journal.
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

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

struct Answer {
    int code;
    std::string out;
};

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    Answer answer(char const* command) {
        auto const code = run(command);
        return {code, out};
    }
    std::vector<Answer> answers() {
        std::vector<Answer> all;
        for (auto const* command : commands) all.push_back(answer(command));
        return all;
    }
    RunLayout run_of(std::uint32_t number) const { return ExperimentLayout(root, {1}).trial(0).run(number); }
};

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

}  // namespace journal_damage_test

BOOST_FIXTURE_TEST_SUITE(journal_damage_test, Fixture)

BOOST_AUTO_TEST_CASE(each_changed_bit_gives_the_right_answer_or_an_error_that_names_the_journal) {
    auto const right = answers();
    int reported = 0;
    for (std::uint32_t const number : {0u, 1u}) {
        for (auto const& path : {run_of(number).supervisor_journal(), run_of(number).chief_journal()}) {
            auto const bytes = must(read_file(path));
            for (auto const bit : bits_to_change(bytes)) {
                auto changed = bytes;
                changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
                must(write_file(path, changed));
                for (std::size_t i = 0; i < std::size(commands); ++i) {
                    auto const got = answer(commands[i]);
                    bool const is_right = got.code == right[i].code && got.out == right[i].out;
                    bool const is_reported = got.code == to_int(ExitCode::damaged) &&
                                             contains(err, path.string()) &&
                                             contains(err, "[journal-damaged]");
                    BOOST_TEST((is_right || is_reported), commands[i] << " with bit " << bit << " of " << path
                                                                      << ": " << got.code << "\n"
                                                                      << got.out << err);
                    reported += is_reported ? 1 : 0;
                }
            }
            must(write_file(path, bytes));
        }
    }
    BOOST_TEST(reported > 200);
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
