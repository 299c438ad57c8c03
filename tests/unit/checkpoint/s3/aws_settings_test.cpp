#include <det/checkpoint/s3/aws_settings.hpp>
#include <det/checkpoint/s3/s3_store.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "http.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint::s3;

namespace aws_settings_test {

struct Fixture {
    TemporaryDirectory home;
    Environment environment{{{"HOME", home.path().string()}}};

    void write(std::string const& name, std::string const& text) const {
        must(make_directories(home / ".aws"));
        must(write_file(home / ".aws" / name, text));
    }
    AwsSettings load() const { return must(load_aws_settings(environment)); }
};

}  // namespace aws_settings_test

BOOST_FIXTURE_TEST_SUITE(aws_settings_test, Fixture)

BOOST_AUTO_TEST_CASE(without_variables_and_files_there_are_no_settings) {
    auto const settings = load();
    BOOST_TEST(!settings.credentials.has_value());
    BOOST_TEST(!settings.region.has_value());
    BOOST_TEST(!must(load_aws_settings(Environment{})).credentials.has_value());
}

BOOST_AUTO_TEST_CASE(the_environment_overrides_the_credentials_file_which_overrides_the_config_file) {
    write("config", "[default]\naws_access_key_id = c\naws_secret_access_key = cs\nregion = eu-north-1\n");
    BOOST_TEST((load().credentials == Credentials{"c", "cs"}));
    write("credentials", "[default]\naws_access_key_id=k\naws_secret_access_key=ks\naws_session_token=t\n");
    BOOST_TEST((load().credentials == Credentials{"k", "ks", "t"}));
    BOOST_TEST(load().region.value() == "eu-north-1");
    environment.set("AWS_ACCESS_KEY_ID", "e");
    environment.set("AWS_SECRET_ACCESS_KEY", "es");
    environment.set("AWS_DEFAULT_REGION", "us-west-2");
    environment.set("AWS_ENDPOINT_URL", "http://here");
    BOOST_TEST((load().credentials == Credentials{"e", "es"}));
    BOOST_TEST(load().region.value() == "us-west-2");
    BOOST_TEST(load().endpoint_url.value() == "http://here");
}

BOOST_AUTO_TEST_CASE(a_profile_is_selected_by_name) {
    write("credentials",
          "[default]\naws_access_key_id=k\naws_secret_access_key=ks\n"
          "[work]\naws_access_key_id=w\naws_secret_access_key=ws\n");
    write("config", "[profile work]\nregion=eu-west-1\n[work]\nregion=wrong\n");
    environment.set("AWS_PROFILE", "work");
    BOOST_TEST((load().credentials == Credentials{"w", "ws"}));
    BOOST_TEST(load().region.value() == "eu-west-1");
    environment.set("AWS_PROFILE", "other");
    BOOST_TEST(!load().credentials.has_value());
}

BOOST_AUTO_TEST_CASE(variables_name_other_paths_of_the_files) {
    must(write_file(home / "mine", "[default]\naws_access_key_id=m\naws_secret_access_key=ms\n"));
    environment.set("AWS_SHARED_CREDENTIALS_FILE", home / "mine");
    BOOST_TEST((load().credentials == Credentials{"m", "ms"}));
}

BOOST_AUTO_TEST_CASE(a_key_without_its_secret_is_an_error_that_names_the_file) {
    write("credentials", "[default]\naws_access_key_id=k\n");
    auto const error = must_fail(load_aws_settings(environment));
    BOOST_TEST((error.code == codes::permission));
    BOOST_TEST(error.message.find("credentials has only one of") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(lines_without_settings_are_ignored) {
    auto const profile = parse_profile(
        "x = 0\r\n# x = 1\r\n[ a ]\r\n  X = 2\r\n; x = 3\r\ns3 =\r\n"
        "  x = 4\r\nX = 5=6\r\nword\r\n[b]\r\nx = 7\r\n",
        "a");
    BOOST_TEST((profile == Profile{{"s3", ""}, {"x", "5=6"}}));
    BOOST_TEST(!parse_profile("[a]\n", "b").has_value());
    BOOST_TEST(parse_profile("[a]\n[", "a").value().empty());
}

BOOST_AUTO_TEST_CASE(an_address_is_rendered_with_a_normalised_prefix) {
    BOOST_TEST(render_address("b", "") == "s3://b/");
    BOOST_TEST(render_address("b", ".") == "s3://b/");
    BOOST_TEST(render_address("b", "/pre/.//fix") == "s3://b/pre/fix/");
    BOOST_TEST(render_address("b", "pre/fix/") == "s3://b/pre/fix/");
}

BOOST_AUTO_TEST_CASE(a_missing_module_is_an_error_with_a_reason_for_each_path_and_a_hint) {
    must(write_file(home / "det_libcurl.so", "no library"));
    std::filesystem::path const modules[] = {home / "absent.so", home / "det_libcurl.so", DET_FAKE_MODULE};
    auto const error = must_fail(Http::open(modules));
    BOOST_TEST((error.code == codes::not_supported));
    BOOST_TEST(error.notes.size() == 3u);
    BOOST_TEST(error.notes[2].find("not a module of this program") != std::string::npos, error.notes[2]);
    BOOST_TEST(error.hint.find("install libcurl") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
