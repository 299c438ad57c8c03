// Expected numbers are numpy's: numpy.random.RandomState(seed).
#include <det/search/numpy_random.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace det::search;

namespace random_test {

constexpr auto all_64_bits = std::numeric_limits<std::uint64_t>::max();

}  // namespace random_test

BOOST_AUTO_TEST_SUITE(random_test)

BOOST_AUTO_TEST_CASE(integers_are_those_of_randint) {
    NumpyRandom random(42);
    for (std::uint32_t const expected : {6, 3, 7, 4, 6, 9, 2, 6, 7, 4})
        BOOST_TEST(random.below(10) == expected);
}

BOOST_AUTO_TEST_CASE(words_are_those_of_the_mersenne_twister) {
    NumpyRandom random(0);
    for (std::uint32_t const expected : {2357136044U, 2546248239U, 3071714933U})
        BOOST_TEST(random.bits32() == expected);
}

BOOST_AUTO_TEST_CASE(reals_are_those_of_rand) {
    NumpyRandom random(42);
    for (double const expected : {0.3745401188473625, 0.9507143064099162, 0.7319939418114051})
        BOOST_TEST(random.unit() == expected);
}

BOOST_AUTO_TEST_CASE(one_choice_takes_no_number) {
    NumpyRandom random(42), same(42);
    BOOST_TEST(random.below(1) == 0u);
    BOOST_TEST(random.at_most(0) == 0u);
    BOOST_TEST(random.bits32() == same.bits32());
}

BOOST_AUTO_TEST_CASE(limits_of_more_than_32_bits_take_two_words_upper_half_first) {
    NumpyRandom random(42), words(42);
    auto const upper = std::uint64_t{words.bits32()};
    BOOST_TEST(random.at_most(all_64_bits) == (upper << 32 | words.bits32()));
    BOOST_TEST(random.at_most(0xffffffff) == words.bits32());
    NumpyRandom wide(42);
    for (std::uint64_t const expected : {441507790259UL, 458615280711UL, 810017303572UL})
        BOOST_TEST(wide.at_most(std::uint64_t{1} << 40) == expected);
}

BOOST_AUTO_TEST_SUITE_END()
