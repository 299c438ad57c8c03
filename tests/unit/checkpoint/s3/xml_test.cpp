#include <boost/test/unit_test.hpp>

#include "s3_client.hpp"

using namespace det::checkpoint::s3;

BOOST_AUTO_TEST_SUITE(xml_test)

BOOST_AUTO_TEST_CASE(texts_of_elements_are_found_in_their_order) {
    auto const* xml = "<L><Key>a&amp;b&lt;</Key><X><Key>&#39;c</Key></X><Keys>no</Keys><Key></Key></L>";
    BOOST_TEST(texts_of(xml, "Key") == (std::vector<std::string>{"a&b<", "'c", ""}),
               boost::test_tools::per_element());
    BOOST_TEST(text_of(xml, "Key") == "a&b<");
    BOOST_TEST(text_of(xml, "Absent") == "");
}

BOOST_AUTO_TEST_CASE(a_truncated_element_is_ignored) {
    BOOST_TEST(texts_of("<Key>a</Key><Key>b", "Key").size() == 1u);
    BOOST_TEST(text_of("<Key>&am", "Key") == "");
    BOOST_TEST(text_of("<Key>&am</Key>", "Key") == "&am");
}

BOOST_AUTO_TEST_SUITE_END()
