#include <det/foundation/base64.hpp>
#include <det/foundation/files.hpp>
#include <det/tracker/web/page_routes.hpp>
#include <det/tracker/web/snapshot.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <zlib.h>

#include "check_result.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::tracker;

namespace page_test {

using Responses = std::map<std::string, http::Response>;

http::Response get(http::Route const& route, http::Headers headers = {}) {
    http::Request request;
    request.headers = std::move(headers);
    return std::get<http::Handler>(route.handler)(request);
}

std::string header(http::Response const& response, std::string_view name) {
    auto const values = http::find_headers(response.headers, name);
    return values.empty() ? "" : std::string(values.front());
}

std::string decompress(std::string const& text) {
    std::string plain(text.size() * 20, '\0');
    z_stream stream{};
    constexpr int gzip = 16 + 15;
    BOOST_REQUIRE(::inflateInit2(&stream, gzip) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    BOOST_TEST(::inflate(&stream, Z_FINISH) == Z_STREAM_END);
    plain.resize(stream.total_out);
    ::inflateEnd(&stream);
    return plain;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace page_test

BOOST_AUTO_TEST_SUITE(page_test)

BOOST_AUTO_TEST_CASE(the_files_of_the_bundle_are_served_as_they_are) {
    std::map<std::string, http::Route> routes;
    for (auto& route : web::page_routes()) routes.emplace(route.pattern, route);
    std::size_t files = 0;
    for (auto const& entry :
         std::filesystem::directory_iterator(test::source_path("runtime/tracker/web/bundle"))) {
        ++files;
        auto const name = entry.path().filename().string();
        auto const found = routes.find(name == "index.html" ? "/" : "/" + name);
        BOOST_REQUIRE_MESSAGE(found != routes.end(), name);
        BOOST_TEST((found->second.auth == http::AuthClass::anyone));
        BOOST_TEST((found->second.method == http::Method::get));
        auto const text = must(read_file(entry.path()));
        auto const plain = get(found->second);
        BOOST_TEST(plain.status == 200);
        BOOST_TEST((plain.body == text), name);
        auto const compressed = get(found->second, {{"Accept-Encoding", "br, gzip;q=0.8"}});
        BOOST_TEST(header(compressed, "Content-Encoding") == "gzip");
        BOOST_TEST((decompress(compressed.body) == text), name);
        BOOST_TEST(get(found->second, {{"Accept-Encoding", "br, gzip;q=0"}}).body.size() == text.size());
    }
    BOOST_TEST(files == routes.size());
    BOOST_TEST(files == 3u);
}

BOOST_AUTO_TEST_CASE(only_the_index_is_asked_for_again) {
    for (auto const& route : web::page_routes()) {
        auto const response = get(route);
        bool const is_index = route.pattern == "/";
        BOOST_TEST(contains(header(response, "Cache-Control"), is_index ? "no-cache" : "immutable"));
        auto const tag = header(response, "ETag");
        auto const same = get(route, {{"If-None-Match", "\"other\", " + tag}});
        BOOST_TEST(same.status == 304);
        BOOST_TEST(same.body.empty());
        BOOST_TEST(get(route, {{"If-None-Match", "\"other\""}}).status == 200);
        // The index names the other files, relative to itself.
        if (!is_index)
            BOOST_TEST(contains(get(web::page_routes().front()).body, '"' + route.pattern.substr(1) + '"'));
    }
}

BOOST_AUTO_TEST_CASE(the_page_runs_no_script_but_its_own) {
    for (auto const& route : web::page_routes()) {
        auto const policy = header(get(route), "Content-Security-Policy");
        BOOST_TEST(contains(policy, "default-src 'none'"));
        BOOST_TEST(contains(policy, "script-src 'self';"));
        BOOST_TEST(contains(policy, "frame-ancestors 'none'"));
        BOOST_TEST(!contains(policy, "unsafe"));
    }
}

BOOST_AUTO_TEST_CASE(the_data_of_a_snapshot_cannot_leave_their_element) {
    auto const html = web::render_snapshot("</title><b>", R"({"name":"</script><script>x()</script><!--"})");
    BOOST_TEST(contains(html, "&lt;/title>&lt;b>"));
    BOOST_TEST(contains(html, R"({"name":"\u003c/script>\u003cscript>x()\u003c/script>\u003c!--"})"));
    BOOST_TEST(!contains(html, "<script>x"));
    BOOST_TEST(contains(html, "default-src 'none'; script-src 'sha256-"));
    BOOST_TEST(!contains(html, "src=\"page"));
}

BOOST_AUTO_TEST_CASE(base64_is_that_of_rfc_4648) {
    std::map<std::string, std::string> const examples{
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}};
    for (auto const& [bytes, text] : examples) BOOST_TEST(encode_base64(bytes) == text);
}

BOOST_AUTO_TEST_SUITE_END()
