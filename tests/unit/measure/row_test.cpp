#include "row.hpp"

#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::measure;

namespace row_test {

Row example() {
    Row row;
    row.operation = "allreduce";
    row.size_bytes = 1'000'000;
    row.count = 250'000;
    row.type = "float32";
    row.ranks = 4;
    row.algorithm = "UCX, ring";
    row.iterations = 100;
    row.times = {90, 95.5, 100};
    row.bus_factor = 1.5;
    return row;
}

Row beside_a_peer() {
    auto row = example();
    row.peer = Row::PeerResult{"mpi", {180, 190, 200}, 3};
    return row;
}

}  // namespace row_test

BOOST_AUTO_TEST_SUITE(row_test)

BOOST_AUTO_TEST_CASE(bandwidth_is_that_of_the_slowest_rank) {
    BOOST_TEST(algorithm_gb_per_s(example()) == 10, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(bus_gb_per_s(example()) == 15, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_row_is_a_line_below_its_heading) {
    BOOST_TEST(render_heading(Peer::none) ==
               "operation           bytes    min us   mean us    max us    GB/s bus GB/s wrong  way");
    BOOST_TEST(render_line(example()) ==
               "allreduce         1000000     90.00     95.50     100.0   10.00    15.00     0  UCX, ring");
}

BOOST_AUTO_TEST_CASE(the_columns_of_a_peer_come_last) {
    std::string const padding(15, ' ');
    auto const heading = render_heading(Peer::mpi), line = render_line(beside_a_peer());
    BOOST_TEST(heading.ends_with("    mpi us  ratio wrong"));
    BOOST_TEST(line == render_line(example()) + padding + "     200.0   0.50     3");
    BOOST_TEST(heading.size() == line.size());
}

BOOST_AUTO_TEST_CASE(a_row_is_one_object_of_json) {
    auto const text = render_json(beside_a_peer());
    BOOST_TEST(text.find('\n') == std::string::npos);
    auto const json = parse_json(text);
    BOOST_TEST(json["operation"] == "allreduce");
    BOOST_TEST(json["bytes"] == 1'000'000);
    BOOST_TEST(json["count"] == 250'000);
    BOOST_TEST(json["dtype"] == "float32");
    BOOST_TEST(json["ranks"] == 4);
    BOOST_TEST(json["way"] == "UCX, ring");
    BOOST_TEST(json["iterations"] == 100);
    BOOST_TEST(json["min_us"] == 90.0);
    BOOST_TEST(json["mean_us"] == 95.5);
    BOOST_TEST(json["max_us"] == 100.0);
    BOOST_TEST(json["wrong"] == 0);
    BOOST_TEST(json["peer"]["name"] == "mpi");
    BOOST_TEST(json["peer"]["max_us"] == 200.0);
    BOOST_TEST(json["peer"]["wrong"] == 3);
    BOOST_TEST(json["peer"]["ratio"] == 0.5);
    BOOST_TEST(!parse_json(render_json(example())).contains("peer"));
}

BOOST_AUTO_TEST_CASE(operations_are_divided_among_ranks_as_far_as_they_can_be) {
    auto const float32 = collectives::DataType::float32;
    auto const gather = operation_size(*find_operation("allgather"), float32, 100, 3);
    BOOST_TEST(gather.part_count == 8u);
    BOOST_TEST(gather.count == 24u);
    BOOST_TEST(gather.size_bytes == 96u);
    BOOST_TEST(operation_size(*find_operation("all_to_all"), float32, 1, 3).size_bytes == 12u);
    BOOST_TEST(operation_size(*find_operation("allreduce"), float32, 101, 3).size_bytes == 100u);
    BOOST_TEST(!find_operation("scan").has_value());
}

BOOST_AUTO_TEST_CASE(bus_bandwidth_counts_what_passes_each_link) {
    BOOST_TEST(find_operation("allreduce")->bus_factor(4) == 1.5);
    BOOST_TEST(find_operation("allgather")->bus_factor(4) == 0.75);
    BOOST_TEST(find_operation("broadcast")->bus_factor(4) == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
