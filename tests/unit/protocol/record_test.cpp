#include <det/protocol/json.hpp>
#include <det/protocol/record.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "check_result.hpp"

using namespace det;

namespace record_test {

constexpr UtcTime noon{1'795'262'400'000'042};

std::vector<Record> one_of_each() {
    return {
        RunStarted{noon, "123_4", 1, "n0", "n[0-1]", 2, "0a1b2c3d-0000-4000-8000-000000000000", 500, noon},
        RunEnded{noon, Cause::preempted, NextAction::requeue, 0, "Slurm wanted the nodes"},
        RunEnded{noon, Cause::hung, NextAction::restart_in_place, 137, "no step"},
        MetricsReported{noon, "training", 10, Json{{"loss", 0.25}}},
        CheckpointCommitted{noon, "uuid", 10, Json{{"a", 1}}, Json{{"steps_completed", 10}}},
        PreemptionAcknowledged{noon},
        ProgressReported{noon, 0.5},
        PreemptionAcknowledged{noon, noon},
        CheckpointBegun{noon, "uuid", 10},
        FirstStep{noon},
        JobRequeued{noon},
        EarlyExitReported{noon, "INVALID_HP"},
        StatusSet{noon, "warming up"},
        AlertRaised{noon, "loss", "it is NaN", "warn"},
        TrialMetadataSet{noon, Json{{"dataset", Json{{"version", 2}}}}},
        OperationCompleted{noon, 900, 0.25},
        OperationCompleted{noon, 900, std::numeric_limits<double>::quiet_NaN()},
        SearchDecision{noon, 100, 1, 2, "12@0.25", "0-3,12", "0123abcd", 1, 2, "advance"},
        ReportsDropped{noon, 7, "the queue of reports was full"},
        CheckpointCommitted{noon, "uuid", 10, Json{{"a", 1}}, Json{{"steps_completed", 10}}, 0.5},
        CheckpointCommitted{noon, "uuid", 10, Json{{"a", 1}}, Json{{"steps_completed", 10}}, 0.5, "5e1f"},
        JobAllocated{noon, UtcTime{1'000'000}, {}, {}, 2},
        JobAllocated{noon, UtcTime{1'000'000}, UtcTime{0}, UtcTime{3'000'000}, 2},
        ContinuedFromMemory{noon, 30, 1}};
}

}  // namespace record_test

BOOST_AUTO_TEST_SUITE(record_test)

BOOST_AUTO_TEST_CASE(every_record_is_decoded_as_it_was_encoded) {
    for (auto const& record : one_of_each()) {
        auto const encoded = encode_record(record);
        auto const decoded = must(decode_record(static_cast<std::uint16_t>(encoded.type), encoded.payload));
        BOOST_REQUIRE(decoded.has_value());
        BOOST_TEST(decoded->index() == record.index());
        BOOST_TEST(encode_record(*decoded).payload == encoded.payload);
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_type_is_skipped_and_a_damaged_payload_is_an_error) {
    BOOST_TEST(!must(decode_record(999, "\xff\xfe")).has_value());
    BOOST_TEST((must_fail(decode_record(3, "{")).code == codes::damaged));
    BOOST_TEST((must_fail(decode_record(2, R"({"time":"2026-11-21T08:15:30Z","cause":"failed"})")).code ==
                codes::damaged));
    BOOST_TEST((must_fail(decode_record(5, R"({"time":"yesterday"})")).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(a_cause_of_a_newer_program_is_kept_as_it_is_written) {
    std::string const payload =
        R"({"bad_hosts":"","cause":"moved-to-the-cloud","exit_code":0,"follow":"stop","message":"",)"
        R"("time":"2026-11-21T08:15:30.000000Z"})";
    auto const record = must(decode_record(2, payload));
    BOOST_REQUIRE(record.has_value());
    auto const& ended = std::get<RunEnded>(*record);
    BOOST_TEST((ended.cause == Cause::unknown));
    BOOST_TEST(ended.cause_name() == "moved-to-the-cloud");
    BOOST_TEST(encode_record(*record).payload == payload);
    BOOST_TEST(RunEnded{}.cause_name() == "failed");
}

BOOST_AUTO_TEST_CASE(metrics_are_encoded_as_one_line_of_json) {
    auto const encoded = encode_record(MetricsReported{noon, "my \"group\"", 10, Json{{"loss", 0.25}}});
    BOOST_TEST((encoded.type == RecordType::metrics));
    BOOST_TEST(encoded.payload ==
               R"({"group":"my \"group\"","metrics":{"loss":0.25},"steps_completed":10,"time":")" +
                   format_utc(noon) + "\"}");
}

BOOST_AUTO_TEST_CASE(the_metric_of_an_operation_may_be_no_number) {
    for (double const metric :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        auto const encoded = encode_record(OperationCompleted{noon, 900, metric});
        BOOST_TEST(parse_json(encoded.payload).at("metric").is_null());
        auto const decoded = must(decode_record(14, encoded.payload));
        BOOST_TEST(std::isnan(std::get<OperationCompleted>(*decoded).metric));
    }
}

BOOST_AUTO_TEST_CASE(a_dump_names_the_record) {
    BOOST_TEST(to_json(one_of_each()[1]).at("record") == "run-ended");
}

BOOST_AUTO_TEST_SUITE_END()
