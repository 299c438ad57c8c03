#include <det/foundation/sha256.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

BOOST_AUTO_TEST_CASE(sha256_has_the_published_value_however_the_stream_is_cut) {
    for (std::size_t cut = 0; cut <= 3; ++cut) {
        Sha256 hash;
        hash.update(std::string_view("abc").substr(0, cut));
        hash.update(std::string_view("abc").substr(cut));
        BOOST_TEST(hash.finish() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
    Sha256 hash;
    for (int i = 0; i < 1000; ++i) hash.update(std::string(1000, 'a'));
    BOOST_TEST(hash.finish() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

BOOST_AUTO_TEST_CASE(hmac_has_the_published_values) {  // RFC 4231, cases 1, 2 and 6
    BOOST_TEST(hmac_sha256(std::string(20, '\x0b'), "Hi There") ==
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    BOOST_TEST(hmac_sha256("Jefe", "what do ya want for nothing?") ==
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    BOOST_TEST(
        hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

BOOST_AUTO_TEST_CASE(equal_in_constant_time_agrees_with_equality) {
    BOOST_TEST(equal_in_constant_time("", ""));
    BOOST_TEST(equal_in_constant_time("proof", "proof"));
    BOOST_TEST(!equal_in_constant_time("proof", "prooF"));
    BOOST_TEST(!equal_in_constant_time("proof", "proo"));
}
