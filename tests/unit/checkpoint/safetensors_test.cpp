#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/process.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::checkpoint;

BOOST_AUTO_TEST_SUITE(safetensors_test)

BOOST_AUTO_TEST_CASE(an_independent_reader_of_safetensors_reads_a_shard) {
    TemporaryDirectory directory;
    SharedFsStore store(directory / "checkpoints");
    std::vector<float> weights{1.5F, -2, 3, 4, 5, 6};
    std::vector<std::uint8_t> odd{7, 8, 9};  // the tensor behind it is not aligned
    std::int64_t step = -4;
    NoPeers alone;
    Saver saver(alone, store);
    auto const begun =
        must(saver.save({}, {NamedTensor::whole("layer.\"w\"", DataType::float32, {2, 3}, weights.data()),
                             NamedTensor::whole("odd", DataType::uint8, {3}, odd.data()),
                             NamedTensor::whole("none", DataType::float64, {0, 4}, nullptr),
                             NamedTensor::whole("step", DataType::int64, {}, &step)}));
    must(saver.finish());
    auto const shard = store.path_of(begun.uuid) / "rank-00000.safetensors";
    SystemProcessRunner runner;
    auto const output = must(runner.run(
        {{det::test::source_path("tests/support/read_safetensors"), shard}, Environment::of_this_process()}));
    BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    BOOST_TEST(parse_json(output.out) == parse_json(R"({"layer.\"w\"": ["F32", [2, 3], [1.5, -2, 3, 4, 5, 6]],
        "odd": ["U8", [3], [7, 8, 9]], "none": ["F64", [0, 4], []], "step": ["I64", [], [-4]]})"));
}

BOOST_AUTO_TEST_SUITE_END()
