#include "write_plan.hpp"

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::checkpoint;

namespace write_plan_test {

LocalTensorSlice part(std::string name, Extents shape, Box box) {
    return {std::move(name), DataType::float32, std::move(shape), std::move(box)};
}

LocalTensorSlice whole(std::string name, Extents shape) {
    return part(std::move(name), shape, {Extents(shape.size(), 0), shape});
}

}  // namespace write_plan_test

BOOST_AUTO_TEST_SUITE(write_plan_test)

BOOST_AUTO_TEST_CASE(each_rank_writes_its_own_part) {
    auto const plan =
        must(plan_writes({{part("w", {4, 2}, {{0, 0}, {3, 2}})}, {part("w", {4, 2}, {{3, 0}, {1, 2}})}}));
    BOOST_TEST(plan.shards[0].file == "rank-00000.safetensors");
    BOOST_TEST(plan.shards[0].size_bytes == 4096u + 24);
    BOOST_TEST(plan.shards[1].size_bytes == 4096u + 8);
    BOOST_REQUIRE(plan.tensors.size() == 1u);
    BOOST_TEST(plan.tensors[0].slices.size() == 2u);
    BOOST_TEST(plan.tensors[0].slices[1].file == "rank-00001.safetensors");
}

BOOST_AUTO_TEST_CASE(replicated_tensors_are_written_once_and_divided_among_the_ranks) {
    std::vector<LocalTensorSlice> const model{whole("a", {300}), whole("b", {200}), whole("c", {100}),
                                              whole("d", {10})};
    auto const plan = must(plan_writes({model, model}));
    BOOST_TEST((plan.shards[0].slices == std::vector<std::size_t>{0, 3}));
    BOOST_TEST((plan.shards[1].slices == std::vector<std::size_t>{1, 2}));
    for (auto const& tensor : plan.tensors) BOOST_TEST(tensor.slices.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_rank_with_nothing_to_write_has_no_file) {
    auto const plan = must(plan_writes({{whole("w", {8})}, {}}));
    BOOST_TEST(plan.shards[1].size_bytes == 0u);
    BOOST_TEST(plan.shards[1].header.empty());
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_fit_together_are_refused_with_the_names_of_their_ranks) {
    auto const refusal = [](std::vector<std::vector<LocalTensorSlice>> const& ranks) {
        auto const error = must_fail(plan_writes(ranks));
        BOOST_TEST((error.code == codes::misuse));
        return error.message;
    };
    BOOST_TEST(refusal({{whole("w", {8})}, {whole("w", {9})}}) ==
               "tensor 'w' is F32 [8] on rank 0 and F32 [9] on rank 1");
    BOOST_TEST(refusal({{part("w", {8}, {{0}, {5}})}, {part("w", {8}, {{4}, {4}})}}) ==
               "ranks 0 and 1 hold parts of tensor 'w' that overlap and are not the same");
    BOOST_TEST(refusal({{part("w", {8}, {{0}, {3}})}, {part("w", {8}, {{4}, {4}})}}) ==
               "no rank holds 1 of the 8 elements of tensor 'w'");
}

BOOST_AUTO_TEST_CASE(scalars_and_empty_tensors_are_planned) {
    auto const plan = must(plan_writes({{whole("step", {}), whole("none", {0, 7})}}));
    BOOST_TEST(plan.shards[0].size_bytes == 4096u + 4);
    BOOST_TEST(plan.tensors.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
