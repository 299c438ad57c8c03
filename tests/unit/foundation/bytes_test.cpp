#include <det/foundation/bytes.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

BOOST_AUTO_TEST_SUITE(bytes_test)

BOOST_AUTO_TEST_CASE(crc32c_has_the_published_check_value) {
    BOOST_TEST(crc32c(std::string_view("123456789")) == 0xe3069283u);
    BOOST_TEST(crc32c(std::string_view("")) == 0u);
}

BOOST_AUTO_TEST_CASE(crc32c_continues_from_an_earlier_part_of_any_size) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
    auto const whole = crc32c(text);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        auto const first = crc32c(std::string_view(text).substr(0, cut));
        BOOST_TEST(crc32c(std::string_view(text).substr(cut), first) == whole);
    }
}

BOOST_AUTO_TEST_CASE(crc32c_of_long_input_is_combined_from_its_parts) {
    std::string text(50'000, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i * 31 >> 3);
    std::uint32_t byte_by_byte = 0;
    for (char const c : text) byte_by_byte = crc32c(std::string_view(&c, 1), byte_by_byte);
    BOOST_TEST(crc32c(text) == byte_by_byte);
    for (std::size_t const cut : {0, 1, 4095, 12'288, 30'001, 50'000}) {
        auto const first = std::string_view(text).substr(0, cut), second = std::string_view(text).substr(cut);
        BOOST_TEST(crc32c(second, crc32c(first)) == byte_by_byte);
        BOOST_TEST(crc32c_combine(crc32c(first), crc32c(second), second.size()) == byte_by_byte);
    }
}

BOOST_AUTO_TEST_CASE(values_come_back_as_they_went_in) {
    std::string out;
    append_value(out, std::uint16_t{0xbeef});
    append_value(out, std::int64_t{-2});
    BOOST_TEST(out.size() == 10u);
    BOOST_TEST(static_cast<unsigned char>(out[0]) == 0xefu);
    BOOST_TEST(read_value<std::uint16_t>(out, 0) == 0xbeef);
    BOOST_TEST(read_value<std::int64_t>(out, 2) == -2);
}

BOOST_AUTO_TEST_CASE(hexadecimal_has_eight_digits) {
    BOOST_TEST(format_hex32(0x2a) == "0000002a");
    BOOST_TEST(format_hex32(0xdeadbeef) == "deadbeef");
}

BOOST_AUTO_TEST_SUITE_END()
