// Tests that the check of results finds wrong results.
#include "test_data.hpp"

#include <det/collectives/node/node_group.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/expectation.hpp"
#include "../collectives/node/node_threads.hpp"
#include "../transport/rank_threads.hpp"
#include "check_result.hpp"
#include "measure_collectives.hpp"

using namespace det;
using namespace det::measure;
using collectives::DataType, collectives::DistributedContext;

namespace test_data_test {

constexpr int ranks = 3;
constexpr std::size_t size_bytes = 1000;

struct Measured {
    std::vector<std::byte> in, out;
    collectives::TensorCall call;
    TestData data;

    Measured(DistributedContext const& context, Operation const& operation, DataType type)
        : in(size_bytes),
          out(size_bytes),
          call(call_of(operation, type, operation_size(operation, type, size_bytes, ranks), in.data(),
                       out.data())),
          data(call, in.data(), context.rank(), ranks) {
        if (operation.kind == collectives::Kind::broadcast) {
            call.in = call.out;
            data = TestData(call, out.data(), context.rank(), ranks);
        }
    }
};

Status check(DistributedContext& context, Operation const& operation, DataType type) {
    Measured measured(context, operation, type);
    auto const& [in, out, call, data] = measured;
    measured.data.poison();
    measured.data.fill();
    bool const is_root = context.is_chief();
    bool const has_result = operation.kind != collectives::Kind::reduce || is_root;
    bool const has_input = operation.kind == collectives::Kind::broadcast && is_root;
    auto const before = measured.data.count_wrong();
    DET_TRY(expect(before == (has_result && !has_input ? call.out.count : 0), "nothing was written yet"));
    DET_TRY(make_det_implementation(context).run(call));
    DET_TRY(expect(measured.data.count_wrong() == 0, "the result is right"));
    if (!has_result) return Ok{};
    measured.out[0] ^= std::byte{1};
    return expect(measured.data.count_wrong() == 1, "one changed bit is one wrong element");
}

}  // namespace test_data_test

BOOST_AUTO_TEST_SUITE(test_data_test)

BOOST_AUTO_TEST_CASE(right_results_of_all_operations_and_types_are_distinguished_from_wrong_ones) {
    for (auto const& operation : all_operations()) {
        for (auto const type : collectives::reducible_types) {
            BOOST_TEST_CONTEXT(operation.name << " of " << collectives::name_of(type)) {
                transport::check_ranks(collectives::node::run_node_threads(
                    ranks, collectives::node::geometry_for(ranks),
                    [&](DistributedContext& context) { return check(context, operation, type); }));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
