#include <det/journal/frame.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace dump_test {

struct Fixture : CliFixture {
    std::filesystem::path file = directory / "file";

    int dump() { return run({"dump", file.string()}); }
    int dump(std::string_view bytes) {
        must(write_file(file, bytes));
        return dump();
    }
    /// A journal of two records.
    static std::string journal() {
        TemporaryDirectory elsewhere;
        auto writer = must(journal::JournalWriter::create(elsewhere / "journal"));
        must(writer.append(MetricsReported{minute(0), "training", 10, Json{{"loss", 0.5}}}));
        must(writer.append(PreemptionAcknowledged{minute(1)}));
        return must(read_file(elsewhere / "journal"));
    }
};

std::string golden_format(std::string const& name) {
    return must(read_file(det::test::golden_path("formats/") + name));
}

}  // namespace dump_test

BOOST_FIXTURE_TEST_SUITE(dump_test, Fixture)

BOOST_AUTO_TEST_CASE(every_kind_of_document_is_named) {
    for (auto const& [name, claim] : std::map<std::string, std::string>{{"spec.json", "spec/1"},
                                                                        {"event.json", "event/1"},
                                                                        {"desired", "desired/1"},
                                                                        {"manifest", "manifest/2"}}) {
        BOOST_TEST(dump(golden_format(name)) == 0, name << ": " << err);
        auto const answer = parse_json(out);
        BOOST_TEST(answer["det"] == claim);
        BOOST_TEST(answer["body"] == parse_json(golden_format(name))["body"]);
    }
}

BOOST_AUTO_TEST_CASE(a_document_that_was_altered_is_damaged) {
    auto text = golden_format("event.json");
    text.replace(text.find("researcher"), 10, "somebody..");
    BOOST_TEST(dump(text) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "[damaged]"), err);
    BOOST_TEST(contains(err, "while reading '" + file.string() + "'"), err);
    BOOST_TEST(out == "");
    for (auto const* half : {"{", "{}", "{\"det\": 7}"})
        BOOST_TEST(dump(half) == to_int(ExitCode::could_not), half);
}

BOOST_AUTO_TEST_CASE(a_journal_is_a_record_a_line) {
    BOOST_TEST(dump(journal()) == 0);
    auto const lines = split_lines(out);
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST(parse_json(lines[0]) == (Json{{"record", "metrics"},
                                             {"time", "2026-11-21T12:00:00.000000Z"},
                                             {"group", "training"},
                                             {"steps_completed", 10},
                                             {"metrics", {{"loss", 0.5}}}}));
    BOOST_TEST(parse_json(lines[1])["record"] == "acknowledgement");
    BOOST_TEST(err == "");
}

BOOST_AUTO_TEST_CASE(a_torn_tail_is_a_message_and_no_error) {
    auto const whole = journal();
    BOOST_TEST(dump(whole.substr(0, whole.size() - 3)) == 0);
    BOOST_TEST(split_lines(out).size() == 1u);
    BOOST_TEST(contains(err, "torn tail of "), err);
    BOOST_TEST(dump(journal::render_header().substr(0, 5)) == 0);  // its writer died at once
    BOOST_TEST(err == "torn tail of 5 bytes\n");
}

BOOST_AUTO_TEST_CASE(records_behind_damage_are_printed_and_the_damage_is_an_error) {
    auto bytes = journal();
    bytes[journal::header_size_bytes + journal::frame_head_size_bytes + 1] ^= 1;
    BOOST_TEST(dump(bytes) == to_int(ExitCode::damaged));
    BOOST_REQUIRE(split_lines(out).size() == 1u);
    BOOST_TEST(parse_json(out)["record"] == "acknowledgement");
    BOOST_TEST(contains(err, "at byte 16: "), err);
    BOOST_TEST(contains(err, "[journal-damaged]"), err);
}

BOOST_AUTO_TEST_CASE(records_of_newer_programs_are_counted) {
    auto const one_more = journal() + journal::render_frame(9999, "from the future");
    BOOST_TEST(dump(one_more) == 0);
    BOOST_TEST(split_lines(out).size() == 2u);
    BOOST_TEST(err == "1 record of types that this program does not know\n");
}

BOOST_AUTO_TEST_CASE(a_foreign_file_is_refused) {
    BOOST_TEST(dump("2026-11-21T12:00:00.000000Z [rank=0] hello\n") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "it is not a journal of det-submit"), err);
    BOOST_TEST(dump("") == 0);  // a journal whose writer died before its first byte
    BOOST_TEST(out == "");
    file = directory / "absent";
    BOOST_TEST(dump() == to_int(ExitCode::absent));
    file = directory.path();
    BOOST_TEST(dump() == to_int(ExitCode::bad_file));
}

BOOST_AUTO_TEST_SUITE_END()
