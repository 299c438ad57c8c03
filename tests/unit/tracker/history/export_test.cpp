#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/varint.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/export.hpp>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker;

namespace export_test {

MetricsReported report(std::string group, std::uint64_t step, Json metrics) {
    return {UtcTime{static_cast<std::int64_t>(step) * 1'000'000}, std::move(group), step, std::move(metrics)};
}

/// A trial whose run 1 resumed from step 1 and trained step 2 again.
class TwoRuns final : public history::History {
public:
    bool has_other_rank = false;

    Result<std::vector<ExperimentId>> list_experiments() override { return std::vector<ExperimentId>{{7}}; }
    Result<history::ExperimentRecord> load_experiment(ExperimentId) override {
        return history::ExperimentRecord();
    }
    Result<std::vector<history::RunReports>> load_reports(TrialId id) override {
        if (id.index > 0) return history::no_such_trial(id);
        std::vector<history::RunReports> runs(2);
        runs[0].metrics = {report("training", 1, {{"loss", 0.5}}), report("training", 2, {{"loss", 0.25}})};
        runs[1].run = 1;
        runs[1].metrics = {report("training", 2, {{"loss", "NaN"}, {"a,\"b\"\n", true}, {"note", "x"}}),
                           report("training", 3, {{"batch_metrics", {1, 2}}})};
        if (has_other_rank) {
            auto of_rank_3 = report("training", 2, {{"loss", 4.0}});
            of_rank_3.rank = {3};
            runs[1].metrics.push_back(std::move(of_rank_3));
        }
        runs[1].beginning.resumed_from = 1;
        history::set_cut_offs(runs);
        return runs;
    }
    Result<std::vector<search::RungEntry>> load_rung(ExperimentId, std::uint32_t, std::uint32_t) override {
        return std::vector<search::RungEntry>();
    }
    Result<std::optional<journal::BestValidation>> load_best_validation(TrialId,
                                                                        ExperimentSpec const&) override {
        return std::optional<journal::BestValidation>();
    }
};

struct Fixture {
    TwoRuns history;
    std::vector<TrialId> trials{{{7}, 0}};
    std::string text;
    TextSink sink = [this](std::string_view part) {
        text += part;
        return Status(Ok{});
    };
};

struct Scalar {
    std::string tag;
    std::uint64_t step = 0;
    float value = 0;
};

std::uint32_t masked(std::string_view bytes) {
    auto const crc = crc32c(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// The fields of a Protocol Buffers message by number; a varint becomes 8 bytes.
std::map<std::uint64_t, std::string> fields_of(std::string_view message) {
    std::map<std::uint64_t, std::string> fields;
    for (ByteCursor cursor(message); !cursor.at_end();) {
        auto const key = cursor.take_varint().value();
        auto& field = fields[key >> 3];
        switch (key & 7) {
            case 0:
                append_value(field, cursor.take_varint().value());
                break;
            case 1:
                field = cursor.take(8).value();
                break;
            case 2:
                field = cursor.take(cursor.take_varint().value()).value();
                break;
            case 5:
                field = cursor.take(4).value();
                break;
            default:
                BOOST_FAIL("an unknown type");
        }
    }
    return fields;
}

/// Reads an event file whose events have one scalar at most; checks all checksums.
std::vector<Scalar> read_event_file(std::filesystem::path const& path) {
    std::vector<Scalar> scalars;
    auto const bytes = must(read_file(path));
    for (ByteCursor cursor(bytes); !cursor.at_end();) {
        auto const size = cursor.take(8).value();
        BOOST_TEST(read_value<std::uint32_t>(cursor.take(4).value(), 0) == masked(size));
        auto const message = cursor.take(read_value<std::uint64_t>(size, 0)).value();
        BOOST_TEST(read_value<std::uint32_t>(cursor.take(4).value(), 0) == masked(message));
        auto event = fields_of(message);
        if (!event.contains(5)) continue;
        auto value = fields_of(fields_of(event[5])[1]);
        scalars.push_back({value[1], read_value<std::uint64_t>(event[2], 0),
                           std::bit_cast<float>(read_value<std::uint32_t>(value[2], 0))});
    }
    return scalars;
}

}  // namespace export_test

BOOST_FIXTURE_TEST_SUITE(export_test, Fixture)

BOOST_AUTO_TEST_CASE(comma_separated_values_have_a_row_for_each_value) {
    must(export_csv(history, trials, {}, sink));
    BOOST_TEST(text ==
               "trial,run,group,steps_completed,time,metric,value,rank\n"
               "7.0,0,training,1,1970-01-01T00:00:01.000000Z,loss,0.5,0\n"
               "7.0,1,training,2,1970-01-01T00:00:02.000000Z,\"a,\"\"b\"\"\n\",true,0\n"
               "7.0,1,training,2,1970-01-01T00:00:02.000000Z,loss,NaN,0\n"
               "7.0,1,training,2,1970-01-01T00:00:02.000000Z,note,x,0\n");
}

BOOST_AUTO_TEST_CASE(superseded_reports_are_marked_if_they_are_asked_for) {
    must(export_csv(history, trials, {.all_runs = true}, sink));
    BOOST_TEST(text.starts_with("trial,run,group,steps_completed,time,metric,value,superseded,rank\n"));
    BOOST_TEST(text.find(",loss,0.25,true,0\n") != text.npos);
    BOOST_TEST(text.find(",loss,0.5,false,0\n") != text.npos);
}

BOOST_AUTO_TEST_CASE(json_lines_have_the_reports) {
    must(export_json_lines(history, trials, {}, sink));
    auto const first = text.substr(0, text.find('\n'));
    BOOST_TEST(parse_json(first) == (Json{{"trial", "7.0"},
                                          {"run", 0},
                                          {"group", "training"},
                                          {"steps_completed", 1},
                                          {"time", "1970-01-01T00:00:01.000000Z"},
                                          {"superseded", false},
                                          {"rank", 0},
                                          {"metrics", {{"loss", 0.5}}}}));
    BOOST_TEST(std::ranges::count(text, '\n') == 3);
}

BOOST_AUTO_TEST_CASE(event_files_have_the_numbers) {
    TemporaryDirectory const directory;
    for (int repetition = 0; repetition < 2; ++repetition) {  // the second one replaces the files
        must(export_event_files(history, trials, {}, directory.path() / "events"));
        auto const own = directory.path() / "events" / "7.0";
        auto const first = read_event_file(own / "events.out.tfevents.000000.det");
        BOOST_REQUIRE(first.size() == 1u);
        BOOST_TEST(first[0].tag == "training/loss");
        BOOST_TEST(first[0].step == 1u);
        BOOST_TEST(first[0].value == 0.5f);
        auto const second = read_event_file(own / "events.out.tfevents.000001.det");
        BOOST_REQUIRE(second.size() == 1u);  // this reader keeps the last scalar of an event
        BOOST_TEST(second[0].step == 2u);
        BOOST_TEST(std::isnan(second[0].value));
    }
}

BOOST_AUTO_TEST_CASE(reports_of_other_ranks_have_their_rank) {
    history.has_other_rank = true;
    must(export_csv(history, trials, {}, sink));
    BOOST_TEST(text.find("7.0,1,training,2,1970-01-01T00:00:02.000000Z,loss,4.0,3\n") != text.npos, text);
    text.clear();
    must(export_json_lines(history, trials, {}, sink));
    BOOST_TEST(text.find("\"metrics\":{\"loss\":4.0},\"rank\":3,") != text.npos, text);
    TemporaryDirectory const directory;
    must(export_event_files(history, trials, {}, directory.path()));
    auto const events = read_event_file(directory / "7.0/events.out.tfevents.000001.det");
    BOOST_REQUIRE(events.size() == 2u);
    BOOST_TEST(events[1].tag == "training/loss [rank=3]");
    BOOST_TEST(events[1].value == 4.0f);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_destination_ends_the_export) {
    auto const full = [](std::string_view) -> Status { return Error{codes::file_system, "disk full"}; };
    BOOST_TEST(must_fail(export_csv(history, trials, {}, full)).message == "disk full");
    trials.push_back({{7}, 1});
    BOOST_TEST((must_fail(export_json_lines(history, trials, {}, sink)).code == codes::no_such_trial));
}

BOOST_AUTO_TEST_SUITE_END()
