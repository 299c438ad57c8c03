#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/span.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

namespace train_test {

struct Fixture : RunFixture {
    mutable Context context = init();

    std::vector<Record> records() const {
        must(context.train().flush());
        return RunFixture::records();
    }
    template <class T>
    T last() const {
        auto const all = records();
        BOOST_REQUIRE(!all.empty());
        BOOST_REQUIRE(std::holds_alternative<T>(all.back()));
        return std::get<T>(all.back());
    }
};

}  // namespace train_test

BOOST_FIXTURE_TEST_SUITE(train_test, Fixture)

BOOST_AUTO_TEST_CASE(a_report_is_a_record_at_once) {
    clock.sleep_for(std::chrono::seconds(1));
    must(context.train().report_training_metrics(100, Json{{"loss", 0.5}, {"classes", Json{1, 2}}}));
    auto const report = last<MetricsReported>();
    BOOST_TEST(report.group == "training");
    BOOST_TEST(report.steps_completed == 100u);
    BOOST_TEST(report.metrics == (Json{{"loss", 0.5}, {"classes", Json{1, 2}}}));
    BOOST_TEST((report.time == clock.now()));
}

BOOST_AUTO_TEST_CASE(groups_are_training_validation_and_names_of_the_program) {
    must(context.train().report_validation_metrics(7, Json::object()));
    BOOST_TEST(last<MetricsReported>().group == "validation");
    must(context.train().report_metrics("inference", 7, Json::object()));
    BOOST_TEST(last<MetricsReported>().group == "inference");
    for (auto const* name : {"", "a.b", "."})
        BOOST_TEST(
            (must_fail(context.train().report_metrics(name, 7, Json::object())).code == codes::misuse));
    BOOST_TEST(records().size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_sums_of_spans_are_metrics) {
    auto& load = telemetry::timing("load");
    must(context.train().report_timings(5));
    BOOST_TEST(records().empty());
    { telemetry::Span const span(load); }
    must(context.train().report_timings());
    auto const report = last<MetricsReported>();
    BOOST_TEST(report.group == "timing");
    BOOST_TEST(report.steps_completed == 5u);
    BOOST_TEST(report.metrics->at("load.count") == 1);
    BOOST_TEST(report.metrics->at("load.total_s") == report.metrics->at("load.max_s"));
}

BOOST_AUTO_TEST_CASE(metrics_are_a_map) {
    for (auto const& metrics : {Json(), Json(0.5), Json::array({1}), Json("loss")})
        BOOST_TEST((must_fail(context.train().report_training_metrics(1, metrics)).code == codes::misuse));
    BOOST_TEST(records().empty());
}

BOOST_AUTO_TEST_CASE(metrics_may_be_json_text) {
    auto& train = context.train();
    for (auto const* text : {R"({"loss":0.5})", "{\n\"loss\": 0.5}", R"( {"loss": 0.5})"}) {
        must(train.report_metrics_text("training", 5, text));
        BOOST_TEST(last<MetricsReported>().metrics == (Json{{"loss", 0.5}}));
    }
    for (auto const* text :
         {"", "{", "{loss: 1}", R"({"loss": nan})", "[1]", "{\"\xff\": 1}", R"({"loss": .5})",
          R"({"loss": 1.})", R"({"loss": 01})", R"({"loss": +1})", R"({"loss": 1,})", "{} {}"})
        BOOST_TEST((must_fail(train.report_metrics_text("training", 5, text)).code == codes::misuse), text);
    BOOST_TEST((must_fail(train.report_metrics_text("a.b", 5, "{}")).code == codes::misuse));
    BOOST_TEST(records().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_name_of_any_characters_is_written_and_read) {
    must(context.train().report_training_metrics(1, Json{{"\xff\n\x1b", 1}}));
    BOOST_TEST(last<MetricsReported>().metrics == (Json{{"\xef\xbf\xbd\n\x1b", 1}}));
    must(
        context.train().report_training_metrics(2, Json{{"loss", std::numeric_limits<double>::quiet_NaN()}}));
    BOOST_TEST(last<MetricsReported>().metrics == (Json{{"loss", "NaN"}}));
}

BOOST_AUTO_TEST_CASE(values_keep_their_types) {
    auto const metrics = Json{
        {"loss", 1.0},       {"epoch", -3}, {"ok", true}, {"no", false}, {"tokens", std::int64_t{1} << 53},
        {"inf", "-Infinity"}};
    must(context.train().report_training_metrics(1, metrics));
    BOOST_TEST(to_line(*last<MetricsReported>().metrics) == to_line(metrics));
    must(context.train().report_metrics_text("training", 2, to_line(metrics)));
    BOOST_TEST(to_line(*last<MetricsReported>().metrics) == to_line(metrics));
    must(
        context.train().report_metrics_text("training", 3, R"({"a":NaN,"b":-Infinity,"c":1e3,"d":-0.5E-1})"));
    BOOST_TEST(to_line(*last<MetricsReported>().metrics) ==
               R"({"a":"NaN","b":"-Infinity","c":1000.0,"d":-0.05})");
}

BOOST_AUTO_TEST_CASE(values_that_are_no_numbers_are_kept) {
    for (auto const& value :
         {Json("text"), Json(nullptr), Json{1, 2}, Json{{"a", "NaN"}}, Json("nan"),
          Json((std::int64_t{1} << 53) + 1), Json(-(std::int64_t{1} << 53) - 1), Json(UINT64_MAX)}) {
        Json const metrics{{"a", 0.5}, {"b", value}};
        must(context.train().report_training_metrics(1, metrics));
        BOOST_TEST(last<MetricsReported>().metrics == metrics);
        must(context.train().report_metrics_text("training", 2, to_line(metrics)));
        BOOST_TEST(last<MetricsReported>().metrics == metrics);
    }
}

BOOST_AUTO_TEST_CASE(numbers_need_no_json) {
    std::array<Metric, 2> const metrics{{{"loss", 0.5}, {"epoch", 3, MetricType::integer}}};
    must(context.train().report_metrics("own", 4, metrics));
    BOOST_TEST(last<MetricsReported>().metrics == (Json{{"loss", 0.5}, {"epoch", 3}}));
    BOOST_TEST(must(context.train().report_mean_metrics("validation", 5, metrics)) ==
               (std::vector{0.5, 3.0}));
    BOOST_TEST(last<MetricsReported>().metrics == (Json{{"loss", 0.5}, {"epoch", 3.0}}));
    BOOST_TEST((must_fail(context.train().report_mean_metrics("a.b", 5, metrics)).code == codes::misuse));
}

BOOST_AUTO_TEST_CASE(a_negative_number_of_batches_is_refused) {
    auto& train = context.train();
    std::array<Metric, 1> const metrics{{{"loss", 0.5}}};
    auto const negative = static_cast<std::uint64_t>(-1);
    auto const error = must_fail(train.report_training_metrics(negative, Json{{"loss", 0.5}}));
    BOOST_TEST((error.code == codes::misuse));
    BOOST_TEST(error.message.find("18446744073709551615 (-1 as a signed number)") != std::string::npos);
    for (auto const& result :
         {train.report_training_metrics(negative, Json{{"text", "a"}}),
          train.report_metrics_text("training", std::uint64_t{1} << 63, R"({"loss": 1})"),
          train.report_metrics("training", negative, metrics), train.report_timings(negative)})
        BOOST_TEST((must_fail(result).code == codes::misuse));
    BOOST_TEST((must_fail(train.report_mean_metrics("training", negative, metrics)).code == codes::misuse));
    BOOST_TEST(records().empty());
    must(train.report_metrics("training", INT64_MAX, metrics));
    BOOST_TEST(last<MetricsReported>().steps_completed == static_cast<std::uint64_t>(INT64_MAX));
}

BOOST_AUTO_TEST_CASE(a_report_above_16_mib_is_refused_and_later_ones_are_written) {
    auto& train = context.train();
    std::vector<double> const list(1'200'000, 0.12345678901234567);
    auto const large = must_fail(train.report_training_metrics(1, Json{{"list", list}}));
    BOOST_TEST(large.code.name == "report-too-large");
    BOOST_TEST(large.message.find("at most 16777216 (16 MiB) are possible") != std::string::npos);
    std::string const text(std::size_t{16} << 20, 'x');
    for (auto const& result :
         {train.report_metrics_text("training", 1, to_line(Json{{"text", text}})), train.set_status(text),
          train.report_alert({"title", text}), train.set_metadata(Json{{"text", text}})})
        BOOST_TEST((must_fail(result).code.name == "report-too-large"));
    Json names = Json::object();
    for (int i = 0; i < 100'000; ++i) names["a name of 40 characters, number " + std::to_string(i)] = i;
    must(train.report_training_metrics(2, names));
    BOOST_TEST(last<MetricsReported>().metrics->size() == 100'000u);
    must(train.report_training_metrics(3, Json{{"loss", 0.5}}));
    BOOST_TEST(last<MetricsReported>().steps_completed == 3u);
    BOOST_TEST(records().size() == 2u);
}

BOOST_AUTO_TEST_CASE(progress_is_from_0_to_1) {
    for (double const progress : {0.0, 0.5, 1.0}) {
        must(context.train().report_progress(progress));
        BOOST_TEST(last<ProgressReported>().progress == progress);
    }
    for (double const progress : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        BOOST_TEST((must_fail(context.train().report_progress(progress)).code == codes::misuse));
    BOOST_TEST(records().size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
