#include <det/tracker/http/response_cache.hpp>

#include <boost/test/unit_test.hpp>
#include <memory>
#include <optional>
#include <vector>

using namespace det::tracker::http;
using namespace std::chrono_literals;

namespace shared_answers {

/// Keeps the response that a client gets.
class Client final : public Responder::Sink {
public:
    void respond(Response response) override { got = std::move(response); }
    void respond_at(std::chrono::steady_clock::time_point, Response) override {}
    bool is_done() const override { return is_gone || got.has_value(); }

    std::optional<Response> got;
    bool is_gone = false;
};

/// A route whose responses the test sends.
struct Fixture {
    Fixture() { use(1h); }

    void use(std::chrono::milliseconds age_max) {
        ResponseCache answers([this] { return number; }, age_max);
        route.emplace(
            answers.share({Method::get, "/a", AuthClass::owner,
                           DeferredHandler([this](Request const& request, Responder const& responder) {
                               asked.push_back(request);
                               responders.push_back(responder);
                           })}));
    }
    std::shared_ptr<Client> ask(std::string const& target = "/a") {
        auto client = std::make_shared<Client>();
        Request request;
        request.target = *parse_target(target);
        std::get<DeferredHandler>(route->handler)(request, Responder(client));
        return client;
    }
    void answer(std::size_t question, std::string const& body) {
        auto const responder = std::move(responders.at(question));
        responder.respond({200, body});
    }
    static std::string body(std::shared_ptr<Client> const& client) {
        return client->got ? client->got->body : "none";
    }

    std::int64_t number = 1;
    std::optional<Route> route;
    std::vector<Request> asked;
    std::vector<Responder> responders;
};

}  // namespace shared_answers

BOOST_FIXTURE_TEST_SUITE(shared_answers, Fixture)

BOOST_AUTO_TEST_CASE(equal_requests_get_one_answer_while_it_is_made_and_soon_after_it) {
    auto const one = ask("/a?x=1&y=2"), two = ask("/a?y=2&x=1");
    BOOST_REQUIRE(asked.size() == 1u);
    BOOST_TEST(body(one) == "none");
    answer(0, "first");
    BOOST_TEST(body(one) == "first");
    BOOST_TEST(body(two) == "first");
    BOOST_TEST(body(ask("/a?x=1&y=2")) == "first");
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(different_requests_have_answers_of_their_own) {
    // Encoded separators stay a part of the value.
    for (auto const* target : {"/a", "/a?x=1", "/a?x=2", "/a?x=1&y=2", "/a?x=1%26y=2", "/a/x", "/a%3Fx=1"}) {
        auto const before = asked.size();
        (void)ask(target);
        BOOST_TEST(asked.size() == before + 1, target);
    }
}

BOOST_AUTO_TEST_CASE(a_change_ends_an_answer) {
    (void)ask();
    answer(0, "old");
    ++number;
    auto const later = ask();
    BOOST_TEST(body(later) == "none");
    answer(1, "new");
    BOOST_TEST(body(later) == "new");
}

BOOST_AUTO_TEST_CASE(a_request_after_a_change_does_not_get_an_answer_that_was_begun_before_it) {
    auto const early = ask();
    ++number;
    auto const late = ask(), also_late = ask();
    answer(0, "old");
    BOOST_TEST(body(early) == "old");
    BOOST_TEST(body(late) == "none");
    BOOST_REQUIRE(asked.size() == 2u);  // the handler was asked again by itself
    answer(1, "new");
    BOOST_TEST(body(late) == "new");
    BOOST_TEST(body(also_late) == "new");
}

BOOST_AUTO_TEST_CASE(without_an_age_only_an_answer_that_is_made_is_shared) {
    use(0ms);
    auto const one = ask(), two = ask();
    answer(0, "first");
    BOOST_TEST(body(two) == "first");
    (void)ask();
    BOOST_TEST(asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_handler_learns_when_no_client_waits_any_more) {
    auto const one = ask(), two = ask();
    one->is_gone = true;
    BOOST_TEST(!responders.at(0).is_done());
    two->is_gone = true;
    BOOST_TEST(responders.at(0).is_done());
    responders.clear();
    (void)ask();
    BOOST_TEST(asked.size() == 2u);  // the answer that was given up is not kept
}

BOOST_AUTO_TEST_CASE(a_client_that_comes_when_the_handler_gives_up_is_answered) {
    auto const one = ask();
    one->is_gone = true;
    BOOST_TEST(responders.at(0).is_done());
    auto const two = ask();
    BOOST_TEST(asked.size() == 1u);
    { auto const given_up = std::move(responders.at(0)); }
    BOOST_REQUIRE(asked.size() == 2u);
    answer(1, "good");
    BOOST_TEST(body(two) == "good");
}

BOOST_AUTO_TEST_CASE(a_handler_that_never_answers_is_an_error_for_all) {
    auto const one = ask(), two = ask();
    responders.clear();
    BOOST_REQUIRE(one->got.has_value());
    BOOST_TEST(one->got->status == 500);
    BOOST_TEST(two->got->status == 500);
}

BOOST_AUTO_TEST_CASE(an_exception_of_a_handler_is_an_error) {
    ResponseCache answers({}, 1h);
    route.emplace(answers.share({Method::get, "/a", AuthClass::owner, Handler([](Request const&) -> Response {
                                     throw std::runtime_error("broken");
                                 })}));
    auto const client = ask();
    BOOST_REQUIRE(client->got.has_value());
    BOOST_TEST(client->got->status == 500);
}

BOOST_AUTO_TEST_CASE(large_answers_are_not_kept) {
    (void)ask();
    answer(0, std::string(std::size_t{40} << 20, 'x'));
    (void)ask();
    BOOST_TEST(asked.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
