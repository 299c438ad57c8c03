#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "check_result.hpp"

using namespace det;

namespace metric_frames_test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Report {
    std::int64_t time_us;
    std::string group;
    std::uint64_t steps_completed;
    std::vector<Metric> metrics;
};

Json to_json(MetricsReported const& record) {
    return {{"time", record.time.microseconds},
            {"group", record.group},
            {"steps", record.steps_completed},
            {"metrics", *record.metrics}};
}

Json decode(std::vector<EncodedRecord> const& records) {
    MetricFrameReader reader;
    auto reports = Json::array();
    for (auto const& record : records) {
        if (record.type == RecordType::metric_schema) {
            must(reader.add_schema(record.payload));
        } else {
            must(reader.visit(record.payload, [&](MetricReportView const& report) {
                reports.push_back(to_json(to_record(report)));
            }));
        }
    }
    return reports;
}

void add(MetricFrameWriter& writer, Report const& report) {
    writer.add(UtcTime{report.time_us}, report.group, report.steps_completed, report.metrics);
}

std::vector<EncodedRecord> encode(std::vector<Report> const& reports) {
    MetricFrameWriter writer;
    for (auto const& report : reports) add(writer, report);
    return writer.take();
}

}  // namespace metric_frames_test

BOOST_AUTO_TEST_SUITE(metric_frames_test)

BOOST_AUTO_TEST_CASE(reports_come_back_in_order_with_their_types) {
    auto const reports = decode(
        encode({{1'000'000, "training", 10, {{"loss", 0.25}, {"epoch", 3, MetricType::integer}}},
                {999'999, "validation", 0, {{"ok", 1, MetricType::boolean}, {"\"\n\x01 \u00e4", -0.5}}},
                {-5, "training", UINT64_MAX, {{"loss", 1.0}, {"epoch", -4, MetricType::integer}}},
                {1'000'001, "own", 1, {}}}));
    BOOST_TEST(reports ==
               Json({{{"time", 1'000'000},
                      {"group", "training"},
                      {"steps", 10},
                      {"metrics", {{"loss", 0.25}, {"epoch", 3}}}},
                     {{"time", 999'999},
                      {"group", "validation"},
                      {"steps", 0},
                      {"metrics", {{"ok", true}, {"\"\n\x01 \u00e4", -0.5}}}},
                     {{"time", -5},
                      {"group", "training"},
                      {"steps", UINT64_MAX},
                      {"metrics", {{"loss", 1.0}, {"epoch", -4}}}},
                     {{"time", 1'000'001}, {"group", "own"}, {"steps", 1}, {"metrics", Json::object()}}}));
}

BOOST_AUTO_TEST_CASE(numbers_that_json_lacks_are_shown_by_name) {
    auto const type = MetricType::integer;
    auto const reports = decode(encode({{0, "training", 1, {{"a", nan}, {"b", infinity}, {"c", -infinity}}},
                                        {0, "training", 2, {{"a", nan, type}, {"b", 0x1p53, type}}},
                                        {0, "training", 2, {{"a", 0x1p54, type}, {"b", 0.5, type}}}}));
    BOOST_TEST(reports[0]["metrics"] == Json({{"a", "NaN"}, {"b", "Infinity"}, {"c", "-Infinity"}}));
    BOOST_TEST(reports[1]["metrics"] == Json({{"a", "NaN"}, {"b", std::int64_t{1} << 53}}));
    BOOST_TEST(reports[1]["metrics"]["b"].is_number_integer());
    BOOST_TEST(!reports[2]["metrics"]["a"].is_number_integer());
    BOOST_TEST(reports[2]["metrics"]["b"] == 0.5);
}

BOOST_AUTO_TEST_CASE(a_point_of_a_repeated_name_takes_at_most_16_bytes) {
    MetricFrameWriter writer;
    constexpr int points = 10'000;
    for (int step = 0; step < points; ++step)
        add(writer, {1'795'262'400'000'042 + step * 250'000LL,
                     "training",
                     static_cast<std::uint64_t>(step),
                     {{"loss", 1.0 / (step + 1)}}});
    std::size_t size_bytes = 0;
    for (auto const& record : writer.take()) size_bytes += record.payload.size() + 12;
    BOOST_TEST(size_bytes <= 16u * points);
}

BOOST_AUTO_TEST_CASE(names_of_different_lists_are_not_confused) {
    // Joined without their sizes, the names of the first three would be the same bytes.
    auto const reports = decode(encode({{0, "g", 1, {{"ab", 1}, {"c", 2}}},
                                        {0, "g", 2, {{"a", 1}, {"bc", 2}}},
                                        {0, "ga", 3, {{"b", 1}, {"c", 2}}},
                                        {0, "g", 4, {{"ab", 1}, {"c", 2, MetricType::integer}}}}));
    BOOST_TEST(reports[1]["metrics"] == Json({{"a", 1.0}, {"bc", 2.0}}));
    BOOST_TEST(reports[2]["group"] == "ga");
    BOOST_TEST(reports[3]["metrics"]["c"].is_number_integer());
}

BOOST_AUTO_TEST_CASE(a_program_with_new_names_in_every_report_is_recorded) {
    MetricFrameWriter writer;
    constexpr int reports = 5000;  // more than the 4096 schemas that a writer numbers
    std::vector<std::string> names;
    for (int i = 0; i < reports; ++i) names.push_back("name" + std::to_string(i));
    for (int i = 0; i < reports; ++i) add(writer, {i, "g", 1, {{names[i], 1.0 * i}}});
    add(writer, {0, "g", 1, {{names[0], 0.5}}});
    auto const decoded = decode(writer.take());
    BOOST_REQUIRE(decoded.size() == reports + 1u);
    for (int i = 0; i < reports; ++i) BOOST_TEST(decoded[i]["metrics"] == Json({{names[i], 1.0 * i}}));
    BOOST_TEST(decoded[reports]["metrics"] == Json({{names[0], 0.5}}));
}

BOOST_AUTO_TEST_CASE(a_cut_or_foreign_frame_is_damaged) {
    auto const records =
        encode({{1'000'000, "training", 300, {{"loss", 0.25}}}, {2'000'000, "training", 301, {{"loss", 1}}}});
    BOOST_REQUIRE(records.size() == 2u);
    MetricFrameReader reader;
    BOOST_TEST((must_fail(reader.visit(records[1].payload, [](auto const&) {})).code == codes::damaged));
    must(reader.add_schema(records[0].payload));
    std::string_view const payload = records[1].payload;
    auto const second = payload.size() - (1 + 3 + 1 + 8);  // schema, time, steps and value of the last report
    for (std::size_t size = 0; size < payload.size(); ++size) {
        bool const is_whole = size == 8 || size == second;
        BOOST_TEST(reader.visit(payload.substr(0, size), [](auto const&) {}).has_value() == is_whole,
                   "size " << size);
    }
    for (auto const* schema :
         {"", "{}", R"({"id":-1,"group":"a","columns":[]})", R"({"id":0,"group":1,"columns":[]})",
          R"({"id":0,"group":"a","columns":[["b","text"]]})", R"({"id":0,"group":"a","columns":[["b"]]})"})
        BOOST_TEST((must_fail(reader.add_schema(schema)).code == codes::damaged), schema);
}

BOOST_AUTO_TEST_CASE(random_bytes_cause_no_crash) {
    std::mt19937 random(19);
    MetricFrameReader reader;
    must(reader.add_schema(R"({"id":0,"group":"a","columns":[["b","real"]]})"));
    must(reader.add_schema(R"({"id":1,"group":"a","columns":[]})"));
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(random() % 64, '\0');
        for (auto& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
        (void)reader.visit(bytes, [](MetricReportView const& report) { (void)to_record(report); });
        (void)reader.add_schema(bytes);
    }
}

BOOST_AUTO_TEST_SUITE_END()
