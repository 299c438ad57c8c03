#include <det/search/training_length.hpp>

#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace training_length_test {

std::string length_of(std::string const& options) {
    auto const length = find_training_length(parse_json(options));
    return length ? length->describe() : "none";
}

}  // namespace training_length_test

BOOST_AUTO_TEST_SUITE(training_length_test)

BOOST_AUTO_TEST_CASE(lengths_are_read_in_every_form) {
    BOOST_TEST(length_of(R"({"max_length": 100})") == "100 steps");
    BOOST_TEST(length_of(R"({"max_length": {"batches": 7}})") == "7 batches");
    BOOST_TEST(length_of(R"({"max_length": {"records": 1}})") == "1 records");
    BOOST_TEST(length_of(R"({"max_length": {"epochs": 3, "batches": null}})") == "3 epochs");
    BOOST_TEST(length_of(R"({"time_metric": "hours", "max_time": 5, "max_length": 100})") == "5 of 'hours'");
    BOOST_TEST(length_of(R"({"time_metric": "hours", "max_length": 100})") == "100 steps");
    BOOST_TEST(length_of(R"({"time_metric": "batches", "max_time": 5})") == "5 batches");
    BOOST_TEST(length_of(R"({"time_metric": "epochs", "max_time": 5})") == "5 epochs");
    BOOST_TEST(length_of(R"({"max_time": 5})") == "none");
    for (auto const text : {"{}", "[]", "null", R"({"max_length": 0})", R"({"max_length": {"epochs": 0}})",
                            R"({"max_length": -1})", R"({"max_length": "3"})", R"({"max_length": null})"})
        BOOST_TEST(length_of(text) == "none", text);
}

BOOST_AUTO_TEST_CASE(the_batch_size_is_a_hyperparameter_and_the_epoch_a_key) {
    auto const size_of = [](char const* config, char const* hyperparameters) {
        return read_batch_size(parse_json(config), parse_json(hyperparameters));
    };
    BOOST_TEST(
        (size_of(R"({"records_per_epoch": 640})", R"({"global_batch_size": 32})") == BatchSize{32, 640}));
    BOOST_TEST((size_of("{}", "{}") == BatchSize{}));
    BOOST_TEST((size_of("null", "null") == BatchSize{}));
    BOOST_TEST((size_of(R"({"records_per_epoch": 0})", R"({"global_batch_size": 0.5})") == BatchSize{}));
    BOOST_TEST((size_of(R"({"records_per_epoch": "9"})", R"({"global_batch_size": [32]})") == BatchSize{}));
}

BOOST_AUTO_TEST_CASE(steps_are_converted_to_the_unit) {
    BatchSize const size{32, 640};
    BOOST_TEST(to_unit(30, LengthUnit::steps, size) == 30);
    BOOST_TEST(to_unit(30, LengthUnit::batches, size) == 30);
    BOOST_TEST(to_unit(30, LengthUnit::records, size) == 960);
    BOOST_TEST(to_unit(30, LengthUnit::epochs, size) == 1.5);
    // A program whose batch size is unknown counts in the unit itself.
    BOOST_TEST(to_unit(30, LengthUnit::records, {0, 640}) == 30);
    BOOST_TEST(to_unit(30, LengthUnit::epochs, {32, 0}) == 30);
    BOOST_TEST(to_unit(30, LengthUnit::records, {32, 0}) == 960);
}

BOOST_AUTO_TEST_CASE(batches_are_rounded_up_so_that_the_length_is_reached) {
    BatchSize const size{32, 100};
    BOOST_TEST(to_batches(5, LengthUnit::steps, size) == 5);
    BOOST_TEST(to_batches(5, LengthUnit::batches, size) == 5);
    BOOST_TEST(to_batches(64, LengthUnit::records, size) == 2);
    BOOST_TEST(to_batches(65, LengthUnit::records, size) == 3);
    BOOST_TEST(to_batches(1, LengthUnit::epochs, size) == 4);
    BOOST_TEST(to_batches(8, LengthUnit::epochs, size) == 25);
    BOOST_TEST(to_batches(8, LengthUnit::epochs, {32, 0}) == 8);
    BOOST_TEST(to_batches(UINT64_MAX, LengthUnit::epochs, size) == UINT64_MAX);
    BOOST_TEST(to_batches(UINT64_MAX, LengthUnit::records, {1, 0}) == UINT64_MAX);
}

BOOST_AUTO_TEST_SUITE_END()
