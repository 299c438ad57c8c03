// The ready site files, and the plugin that was built here.
#include <det/foundation/files.hpp>
#include <det/site/check.hpp>
#include <det/site/spank_plugin.hpp>
#include <det/slurm/recorded_cluster.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "site_support.hpp"
#include "test_paths.hpp"

using namespace det;

namespace ready_files_test {

std::filesystem::path const ready = det::test::source_path("site-configs");

std::vector<std::string> folders() {
    std::vector<std::string> names;
    for (auto const& name : must(list_directory(ready))) {
        if (path_exists(ready / name / "site.yaml")) names.push_back(name);
    }
    return names;
}

}  // namespace ready_files_test

BOOST_AUTO_TEST_SUITE(ready_files_test)

BOOST_AUTO_TEST_CASE(every_ready_site_file_can_be_read) {
    BOOST_TEST(folders().size() >= 6u);
    for (auto const& name : folders()) {
        auto const text = must(read_file(ready / name / "site.yaml"));
        auto const site = must(config::parse_site_file(text, name));
        BOOST_TEST(site.warnings.empty(), name);
        BOOST_TEST(!site.name.empty(), name);
    }
}

BOOST_AUTO_TEST_CASE(every_ready_site_file_comes_with_the_lines_that_it_expects) {
    auto const index = must(read_file(ready / "README.md"));
    for (auto const& name : folders()) {
        auto const page = must(read_file(ready / name / "README.md"));
        auto const site = must(config::parse_site_file(must(read_file(ready / name / "site.yaml")), name));
        BOOST_TEST(index.find("(" + name) != std::string::npos, name);
        BOOST_TEST(page.find("spank_det.so") != std::string::npos, name);
        for (auto const& pool : site.pools)
            BOOST_TEST(page.find("PartitionName=" + pool.partition) != std::string::npos,
                       name + ": " + pool.partition);
    }
}

BOOST_AUTO_TEST_CASE(site_files_from_manuals_fit_what_the_manuals_say_of_the_partitions) {
    int checked = 0;
    for (auto const& name : folders()) {
        auto const recording = read_file(ready / name / "recorded.txt");
        if (!recording) continue;
        ++checked;
        auto const cluster = must(slurm::parse_recorded_cluster(*recording));
        auto const file = must(config::parse_site_file(must(read_file(ready / name / "site.yaml")), name));
        site::PluginFacts unknown;
        unknown.why_unknown = "this is a recording";
        for (auto const& finding : site::check_site(file, cluster.partitions, cluster.config, unknown))
            BOOST_TEST((finding.severity == site::Finding::Severity::note),
                       name + ": " + finding.subject + ": " + finding.what);
    }
    BOOST_TEST(checked == 2);
    auto const lumi = must(slurm::parse_recorded_cluster(must(read_file(ready / "lumi" / "recorded.txt"))));
    auto const site = site::make_site(lumi.partitions);
    BOOST_TEST((site.find_pool("standard-g")->slot_type == SlotType::rocm));  // by the name of its GPUs
    BOOST_TEST(lumi.partitions[0].qos == "standard-g");
    BOOST_TEST(must_fail(slurm::parse_recorded_cluster("$ scontrol show config\n")).code.name ==
               codes::slurm_output.name);
}

#ifdef DET_SPANK_PLUGIN
BOOST_AUTO_TEST_CASE(the_plugin_that_was_built_here_says_which_slurm_it_is_for) {
    auto const object = must(read_file(DET_SPANK_PLUGIN));
    auto const version = site::find_plugin_version(object);
    BOOST_REQUIRE(version.has_value());
    BOOST_TEST((*version >> 16) >= 20u);
    // A truncated plugin gives the same version or none; no byte beyond its end is read.
    for (std::size_t size = 0; size < object.size(); size += 997) {
        auto const cut = site::find_plugin_version(std::string_view(object).substr(0, size));
        BOOST_TEST((!cut || *cut == *version));
    }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
