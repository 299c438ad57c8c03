#include "column_encoding.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "check_result.hpp"

using namespace det;
using namespace det::tracker::index;

namespace columns_test {

using Integers = std::vector<std::uint64_t>;

Integers read_back(Integers const& values) {
    Integers out;
    must(decode_integers(encode_integers(values), values.size(), out));
    return out;
}

constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

}  // namespace columns_test

BOOST_AUTO_TEST_SUITE(columns_test)

BOOST_AUTO_TEST_CASE(integers_of_the_whole_range_survive) {
    for (auto const& values : {Integers{}, {0}, {largest}, {0, largest, 0}, {5, 3, 3, 4}, {1, 2, 3}})
        BOOST_TEST(read_back(values) == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_up_to_63_takes_one_byte) {
    BOOST_TEST(encode_integers(Integers{63, 126}).size() == 2u);
    BOOST_TEST(encode_integers(Integers{63, 127}).size() == 3u);
}

BOOST_AUTO_TEST_CASE(differences_of_every_length_survive_at_every_place) {
    for (int bits = 0; bits < 64; ++bits) {
        auto const power = std::uint64_t{1} << bits;
        for (auto const value : {power - 1, power, 0 - power, power + 1}) {
            for (auto const& values : {Integers{value},
                                       {value, value},
                                       {value, value + 1, value + 2, value + 3},
                                       {0, 0, 0, value},
                                       {0, value, 0, value, 0}})
                BOOST_TEST(read_back(values) == values, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(integers_are_appended) {
    Integers out{9};
    must(decode_integers(encode_integers(Integers{1, 2}), 2, out));
    BOOST_TEST(out == (Integers{9, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_column_with_too_few_or_too_many_integers_is_damaged) {
    auto const bytes = encode_integers(Integers{1, 2, 300});
    Integers out;
    BOOST_TEST((must_fail(decode_integers(bytes, 2, out)).code == codes::damaged));
    BOOST_TEST((must_fail(decode_integers(bytes, 4, out)).code == codes::damaged));
    BOOST_TEST((must_fail(decode_integers(bytes, largest, out)).code == codes::damaged));
    BOOST_TEST((must_fail(decode_integers(bytes.substr(0, 3), 3, out)).code == codes::damaged));
    BOOST_TEST((must_fail(decode_integers("", 1, out)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(each_bit_pattern_of_a_real_survives) {
    auto const other_nan = std::bit_cast<double>(std::bit_cast<std::uint64_t>(std::nan("")) | 1);
    std::vector<double> const values{0.0, -0.0, 1e-310, -HUGE_VAL, std::nan(""), other_nan};
    std::vector<double> out{7};
    must(decode_reals(encode_reals(values), values.size(), out));
    BOOST_REQUIRE(out.size() == values.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i)
        BOOST_TEST(std::bit_cast<std::uint64_t>(out[i + 1]) == std::bit_cast<std::uint64_t>(values[i]));
}

BOOST_AUTO_TEST_CASE(a_column_of_reals_must_have_8_bytes_a_value) {
    auto const bytes = encode_reals(std::vector{1.0, 2.0});
    std::vector<double> out;
    BOOST_TEST((must_fail(decode_reals(bytes, 1, out)).code == codes::damaged));
    BOOST_TEST((must_fail(decode_reals(bytes, 3, out)).code == codes::damaged));
    // 2^61 + 2 values would be 16 bytes modulo 2^64
    BOOST_TEST((must_fail(decode_reals(bytes, (std::size_t{1} << 61) + 2, out)).code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
