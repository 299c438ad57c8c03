#include "arguments.hpp"

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::measure;
using Sizes = std::vector<std::size_t>;

namespace arguments_test {

void check_refused(std::vector<std::string> const& words, std::string const& message) {
    auto const error = must_fail(parse_collectives(words));
    BOOST_TEST((error.code == codes::usage), message);
    BOOST_TEST(error.message == message);
}

}  // namespace arguments_test

BOOST_AUTO_TEST_SUITE(arguments_test)

BOOST_AUTO_TEST_CASE(sizes_are_ranges_or_lists) {
    BOOST_TEST(must(parse_sizes("4:32")) == (Sizes{4, 8, 16, 32}), boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("1K:1M:32")) == (Sizes{1024, 32768, 1048576}),
               boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("3:10")) == (Sizes{3, 6}), boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("5:5")) == (Sizes{5}), boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("7,1G,2K")) == (Sizes{7, std::size_t{1} << 30, 2048}),
               boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("1:64G:64G")) == (Sizes{1, std::size_t{1} << 36}),
               boost::test_tools::per_element());
    BOOST_TEST(must(parse_sizes("4:64M")).size() == 25u);
}

BOOST_AUTO_TEST_CASE(sizes_that_make_no_sense_are_refused) {
    for (auto const* text :
         {"", "0", "-1", "4:", ":4", "1,,2", "4:64MB", "65G", "99999999999999999999", "K", "4 8"}) {
        auto const error = must_fail(parse_sizes(text));
        BOOST_TEST((error.code == codes::usage), text);
        BOOST_TEST(error.message.ends_with("is no size"), error.message);
    }
    BOOST_TEST(must_fail(parse_sizes("8:4")).message == "'8:4' has no sizes in it");
    BOOST_TEST(must_fail(parse_sizes("4:8:1")).message == "'4:8:1' has no sizes in it");
    BOOST_TEST(must_fail(parse_sizes("1:2:3:4")).message == "'1:2:3:4' is no range of sizes");
}

BOOST_AUTO_TEST_CASE(without_options_allreduce_of_floats_is_measured) {
    auto const arguments = must(parse_collectives({}));
    BOOST_TEST(arguments.sizes_bytes.front() == 4u);
    BOOST_TEST(arguments.sizes_bytes.back() == std::size_t{64} << 20);
    BOOST_REQUIRE(arguments.operations.size() == 1u);
    BOOST_TEST(arguments.operations[0].name == "allreduce");
    BOOST_TEST((arguments.type == collectives::DataType::float32));
    BOOST_TEST((arguments.form == Form::table && arguments.peer == Peer::none &&
                arguments.memory == Memory::shared));
    BOOST_TEST(!arguments.iterations.has_value());
    BOOST_TEST(!arguments.ranks.has_value());
}

BOOST_AUTO_TEST_CASE(an_option_has_its_value_in_the_next_word_or_in_the_same_word) {
    auto const arguments =
        must(parse_collectives({"--op=reduce,broadcast", "--dtype", "bfloat16", "--iterations=7", "--memory",
                                "plain", "--peer=mpi", "--transport=ucx", "--sizes", "8", "--json"}));
    BOOST_REQUIRE(arguments.operations.size() == 2u);
    BOOST_TEST(arguments.operations[1].name == "broadcast");
    BOOST_TEST((arguments.type == collectives::DataType::bfloat16));
    BOOST_TEST(arguments.iterations.value() == 7u);
    BOOST_TEST(
        (arguments.form == Form::json && arguments.peer == Peer::mpi && arguments.memory == Memory::plain));
    BOOST_TEST(arguments.transport == "ucx");
    BOOST_TEST(must(parse_collectives({"--op", "all"})).operations.size() == all_operations().size());
    BOOST_TEST(must(parse_collectives({"--ranks", "3"})).ranks.value() == 3);
}

BOOST_AUTO_TEST_CASE(wrong_options_are_named) {
    check_refused({"--size", "4"}, "there is no option '--size'");
    check_refused({"4"}, "there is an argument too many: '4'");
    check_refused({"--sizes"}, "--sizes: 1 required TEXT missing");
    check_refused({"--op", "allreduce,scan"}, "there is no operation 'scan'");
    check_refused({"--dtype", "float"},
                  "--dtype: float not in {uint8,int32,int64,float32,float64,float16,bfloat16}");
    check_refused({"--iterations", "0"}, "--iterations: Value 0 not in range 1 to 1000000");
    check_refused({"--iterations", "many"}, "--iterations: Value many not in range 1 to 1000000");
    check_refused({"--ranks=-1"}, "--ranks: Value -1 not in range 1 to 1024");
    check_refused({"--transport", "ib"}, "--transport: ib not in {tcp,ucx,mpi}");
    check_refused({"--memory", "gpu"}, "--memory: gpu not in {shared,plain}");
    check_refused({"--peer", "nccl"}, "--peer: nccl not in {mpi}");
    check_refused({"--ranks", "2", "--transport", "ucx"},
                  "ranks that are started here use shared memory only");
}

BOOST_AUTO_TEST_CASE(large_sizes_have_fewer_iterations) {
    BOOST_TEST(iterations_for(4) == 2000u);
    BOOST_TEST(iterations_for(std::size_t{1} << 20) == 100u);
    BOOST_TEST(iterations_for(std::size_t{1} << 30) == 20u);
}

BOOST_AUTO_TEST_SUITE_END()
