#include <det/foundation/files.hpp>

#include <filesystem>

#include "config_support.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::config;

namespace template_test {

std::vector<std::filesystem::path> shipped_templates() {
    std::vector<std::filesystem::path> found;
    for (auto const& entry :
         std::filesystem::directory_iterator(det::test::source_path("templates/config"))) {
        if (entry.path().extension() == ".yaml") found.push_back(entry.path());
    }
    return found;
}

}  // namespace template_test

BOOST_AUTO_TEST_SUITE(template_test)

BOOST_AUTO_TEST_CASE(every_shipped_template_is_sane_and_completes_an_experiment) {
    auto const templates = shipped_templates();
    BOOST_TEST(templates.size() >= 4u);
    for (auto const& path : templates) {
        BOOST_TEST_CONTEXT(path) {
            auto const text = must(read_file(path));
            BOOST_TEST(sanity_of(text) == "");
            static_cast<void>(must(read_experiment_config(merged(essentials, text))));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
