#include <det/checkpoint/error_exchange.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::checkpoint;

BOOST_AUTO_TEST_SUITE(error_exchange)

BOOST_AUTO_TEST_CASE(an_error_of_a_store_keeps_its_code_on_other_ranks) {
    for (auto const& code : {codes::no_such_checkpoint, codes::checkpoint_damaged, codes::file_system,
                             codes::permission, codes::newer_format, codes::transport}) {
        auto const received = decode_result(encode_result(Error{code, "what happened", "what to do"}));
        BOOST_REQUIRE(!received);
        BOOST_TEST(received.error().code.name == code.name);
        BOOST_TEST(received.error().message == "what happened");
        BOOST_TEST(received.error().hint == "what to do");
    }
}

BOOST_AUTO_TEST_SUITE_END()
