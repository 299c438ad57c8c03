// The examples of "Authenticating Requests: Using the Authorization Header" in the S3 API reference.
#include "sigv4.hpp"

#include <det/foundation/sha256.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::checkpoint::s3;

namespace sigv4_test {

Credentials const example{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr UtcTime day{1'369'353'600'000'000};  // 2013-05-24

std::string sha256(std::string_view text) {
    Sha256 sum;
    sum.update(text);
    return sum.finish();
}

std::string signature(std::string method, std::string path, Query query, Headers headers,
                      std::string_view body = "") {
    auto const signed_headers = sign({std::move(method), "examplebucket.s3.amazonaws.com", std::move(path),
                                      std::move(query), std::move(headers), sha256(body)},
                                     example, "us-east-1", day);
    auto const& text = signed_headers.at("authorization");
    return text.substr(text.rfind('=') + 1);
}

}  // namespace sigv4_test

BOOST_AUTO_TEST_SUITE(sigv4_test)

BOOST_AUTO_TEST_CASE(published_examples_get_the_published_signatures) {
    BOOST_TEST(signature("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}) ==
               "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    BOOST_TEST(
        signature("PUT", "/test$file.text", {},
                  {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                  "Welcome to Amazon S3.") ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    BOOST_TEST(signature("GET", "/", {{"lifecycle", ""}}, {}) ==
               "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    BOOST_TEST(signature("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}) ==
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

BOOST_AUTO_TEST_CASE(a_session_token_is_signed_too) {
    auto temporary = example;
    temporary.session_token = "token";
    auto const headers = sign({"GET", "h", "/", {}, {}, sha256("")}, temporary, "us-east-1", day);
    BOOST_TEST(headers.at("x-amz-security-token") == "token");
    BOOST_TEST(headers.at("authorization").find("x-amz-security-token") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reserved_characters_are_encoded) {
    BOOST_TEST(uri_encode("/a b/\xc3\xa4+~", Slashes::stay) == "/a%20b/%C3%A4%2B~");
    BOOST_TEST(uri_encode("/", Slashes::encoded) == "%2F");
    BOOST_TEST(canonical_query({{"b", "/"}, {"a", ""}}) == "a=&b=%2F");
}

BOOST_AUTO_TEST_SUITE_END()
