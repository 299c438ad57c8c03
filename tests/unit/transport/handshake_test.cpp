#include <det/transport/handshake.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::transport;

namespace handshake_test {

SessionKey const key{"a secret", "store", 4};

struct Conversation {
    std::string server_nonce = make_nonce();
    std::string answer = render_answer(key, {2}, server_nonce, make_nonce());
};

}  // namespace handshake_test

BOOST_FIXTURE_TEST_SUITE(handshake_test, Conversation)

BOOST_AUTO_TEST_CASE(both_sides_accept_each_other_if_both_know_the_secret) {
    BOOST_TEST((parse_greeting(render_greeting(server_nonce)) == server_nonce));
    BOOST_TEST((check_answer(key, server_nonce, answer) == Rank{2}));
    auto const verdict = render_verdict(key, Admission::accepted, server_nonce, answer);
    BOOST_TEST((check_verdict(key, server_nonce, answer, verdict) == Admission::accepted));
}

BOOST_AUTO_TEST_CASE(a_proof_is_not_valid_in_another_handshake) {
    BOOST_TEST(!check_answer(key, make_nonce(), answer).has_value());
    for (auto const& other : {SessionKey{"other", "store", 4}, SessionKey{"a secret", "monitor", 4},
                              SessionKey{"a secret", "store", 5}})
        BOOST_TEST(!check_answer(other, server_nonce, answer).has_value());
    auto forged = answer;
    forged[0] = 3;  // another rank with the same proof
    BOOST_TEST(!check_answer(key, server_nonce, forged).has_value());
    BOOST_TEST(!check_answer(key, server_nonce, "short").has_value());
    auto const outside = render_answer(key, {4}, server_nonce, make_nonce());
    BOOST_TEST(!check_answer(key, server_nonce, outside).has_value());
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_the_secret_is_rejected) {
    SessionKey const impostor{"a guess", "store", 4};
    auto const verdict = render_verdict(impostor, Admission::accepted, server_nonce, answer);
    BOOST_TEST((check_verdict(key, server_nonce, answer, verdict) == Admission::wrong_proof));
    auto const reflected = "W" + answer.substr(answer_bytes - proof_bytes);
    BOOST_TEST((check_verdict(key, server_nonce, answer, reflected) == Admission::wrong_proof));
}

BOOST_AUTO_TEST_SUITE_END()
