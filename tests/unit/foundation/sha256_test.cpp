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
