// The site file: what it may contain, and the messages about wrong files.
#include <det/config/experiment_config.hpp>
#include <det/config/site_file.hpp>
#include <det/foundation/files.hpp>
#include <det/yaml/render.hpp>

#include <nlohmann/json.hpp>

#include "config_support.hpp"
#include "golden.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::config;

namespace site_file_test {

SiteFile site_of(std::string const& text) { return must(parse_site_file(text, "site.yaml")); }

std::string complaints(std::string const& text) {
    return explain(must_fail(parse_site_file(text, "site.yaml")));
}

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The example that the grammar page shows: its lines between the first "```yaml" and "```".
std::string example_of_the_page() {
    auto const page = must(read_file(det::test::source_path("submitter/site/SITE_FILE.md")));
    auto const start = page.find("```yaml\n") + 8;
    return page.substr(start, page.find("```", start) - start);
}

/// slurm.sbatch_args and the rest, as they come out of the layers.
nlohmann::json merged(std::vector<Layer> const& layers) { return yaml::to_json(must(merge_layers(layers))); }

}  // namespace site_file_test

BOOST_AUTO_TEST_SUITE(site_file_test)

BOOST_AUTO_TEST_CASE(the_example_of_the_page_says_what_the_page_says) {
    auto const site = site_of(example_of_the_page());
    BOOST_TEST(site.warnings.empty());
    BOOST_TEST(*site.storage_root == "/shared/det/%u");
    BOOST_TEST(*site.default_compute_pool == "a100");
    BOOST_REQUIRE(site.pools.size() == 2u);
    auto const& pool = site.pools[0];
    BOOST_TEST(pool.name == "a100");
    BOOST_TEST(pool.partition == "gpu");
    BOOST_TEST((pool.slot_type == SlotType::cuda));
    BOOST_TEST(*pool.slots_per_node == 8);
    BOOST_TEST(*pool.gpu_type == "a100");
    BOOST_TEST(*pool.limits.slots_per_trial_max == 64);
    BOOST_TEST(*pool.limits.time_max == "2-00:00:00");
    BOOST_TEST((site.scheduler == Scheduler::fair_share));
    BOOST_TEST((site.container_runtime == ContainerRuntime::apptainer));
    BOOST_TEST(site.pools[1].partition == "cpu");  // its name
    BOOST_TEST(!site.pools[1].has_whole_memory);
    BOOST_TEST(site.find_pool("cpu") == &site.pools[1]);
    BOOST_TEST(site.find_pool("nope") == nullptr);
    BOOST_TEST(site.where("default_compute_pool")->line > 1);
}

BOOST_AUTO_TEST_CASE(everything_that_is_wrong_is_said_with_its_place) {
    check_golden("config/site_file_errors.txt",
                 complaints("version: 1\n"
                            "storage_rot: /x\n"
                            "storage_root: shared/%u\n"
                            "job_project_source: lable\n"
                            "scheduler: fairshare\n"
                            "environment: {}\n"
                            "pools:\n"
                            "  - name: -a\n"
                            "    slots_per_nod: 4\n"
                            "    slot_type: gpu\n"
                            "    qos: 'two words'\n"
                            "    limits: {time: tomorrow, slots_per_trial: 0}\n"
                            "    sbatch_args: ['--nodes=4']\n"
                            "    task_defaults:\n"
                            "      max_restart: 2\n"
                            "      resources: {resource_pool: other}\n"
                            "  - {name: b}\n"
                            "  - {name: b}\n"
                            "  - {partition: c}\n"));
}

BOOST_AUTO_TEST_CASE(a_root_of_the_site_belongs_to_one_user) {
    BOOST_TEST(has(complaints("version: 1\nstorage_root: /shared/det/\n"), "/shared/det/%u"));
    BOOST_TEST(has(complaints("version: 1\nstorage_root: /shared/%h\n"), "only %u is known"));
    BOOST_TEST(has(complaints("version: 1\nstorage_root: /shared/%u/%\n"), "only %u is known"));
    BOOST_TEST(expand_storage_root("/a%%b/%u/det", "kim") == "/a%b/kim/det");
    auto const roots = roots_of_users("/a%%b/%u/det/x");
    BOOST_REQUIRE(roots.has_value());
    BOOST_TEST(roots->directory == "/a%b");
    BOOST_TEST(roots->below == "det/x");
    BOOST_TEST(roots_of_users("/scratch/%u")->below == "");
    BOOST_TEST(!roots_of_users("/scratch/det-%u"));
    BOOST_TEST(!roots_of_users("/scratch/%u-det"));
    BOOST_TEST(!roots_of_users("/scratch/%u/%u"));
    BOOST_TEST(has(complaints("version: 1\nsharing: everybody\n"), "private"));
    BOOST_TEST(has(complaints("version: 1\npurge_days: 0\n"), "purge_days"));
    BOOST_TEST(has(complaints("version: 1\ntrusted_owners: ['group:']\n"), "must be a user, or group:NAME"));
}

BOOST_AUTO_TEST_CASE(what_is_no_site_file_is_refused) {
    BOOST_TEST(has(complaints(""), "begin with 'version: 1'"));
    BOOST_TEST(has(complaints("- a\n"), "begin with 'version: 1'"));
    BOOST_TEST(has(complaints("name: x\n"), "'version' is missing"));
    BOOST_TEST(has(complaints("version: 2\nnew_key: 1\n"), "use a newer det-submit"));
    BOOST_TEST(has(complaints("version: 1\nname: \xff\n"), "error"));
    BOOST_TEST(has(complaints("a: &a [*a]\n"), "error"));
}

BOOST_AUTO_TEST_CASE(secrets_of_the_site_are_not_shown_in_its_errors) {
    auto const text = complaints(
        "version: 1\ntask_defaults: {checkpoint_storage: {type: s3, secret_key: [hunter2], bucket: b}}\n"
        "pools: [{name: a, task_defaults: {checkpoint_storage: {type: s3, access_key: [hunter2]}}}]\n");
    BOOST_TEST(has(text, "secret_key"), text);
    BOOST_TEST(!has(text, "hunter2"), text);
    BOOST_TEST(
        !has(complaints("version: 1\ntask_defaults: {checkpoint_storage: {secret_key: hunter2"), "hunter2"));
    auto const number =
        complaints("version: 1\ntask_defaults: {checkpoint_storage: {secret_key: 99999999999999999999}}\n");
    BOOST_TEST(has(number, "the number **** is too large"), number);
    BOOST_TEST(!has(number, "9999"), number);
}

BOOST_AUTO_TEST_CASE(a_pattern_of_job_names_has_the_name_or_the_number) {
    BOOST_TEST(site_of("version: 1\n").job_name == "exp-%i");
    for (auto const* pattern : {"%n", "%i", "%n-%i", "det.%n_%i"})
        BOOST_TEST(site_of(std::string("version: 1\njob_name: '") + pattern + "'\n").job_name == pattern);
    for (auto const* pattern : {"", "job", "%u", "%n%", "-%i", "a b%i", "%i/x"})
        BOOST_TEST(has(complaints(std::string("version: 1\njob_name: '") + pattern + "'\n"),
                       "must be a name with %n or %i"),
                   pattern);
}

BOOST_AUTO_TEST_CASE(a_host_suffix_is_part_of_a_host_name) {
    for (auto const* suffix : {"i", "-ib", "IB0"})
        BOOST_TEST(site_of(std::string("version: 1\nhost_suffix: '") + suffix + "'\n").host_suffix.is_text());
    for (auto const* suffix : {"", "a.b", "a b", "$(id)", "i\\n", "123456789012345678901234567890123"})
        BOOST_TEST(has(complaints(std::string("version: 1\nhost_suffix: '") + suffix + "'\n"),
                       "must be the end of a host name"),
                   suffix);
}

BOOST_AUTO_TEST_CASE(a_pools_defaults_stand_over_the_sites) {
    auto const site = site_of(
        "version: 1\n"
        "sbatch_args: [--account=site]\n"
        "srun_args: [--network=site]\n"
        "network_interface: eth0\n"
        "host_suffix: i\n"
        "task_defaults: {max_restarts: 1, scheduling_unit: 10}\n"
        "invariants: {max_restarts: 7}\n"
        "pools:\n"
        "  - name: a\n"
        "    sbatch_args: [--account=pool]\n"
        "    srun_args: [--network=pool]\n"
        "    network_interface: hsn0\n"
        "    task_defaults: {max_restarts: 2, slurm: {sbatch_args: [--nice=5]}}\n"
        "    invariants: {max_restarts: 8, debug: true}\n");
    auto const inside = merged(site_defaults(site, &site.pools[0]));
    BOOST_TEST(inside["max_restarts"] == 2);
    BOOST_TEST(inside["scheduling_unit"] == 10);
    BOOST_TEST(inside["slurm"]["sbatch_args"] ==
               nlohmann::json({"--account=site", "--account=pool", "--nice=5"}));
    BOOST_TEST(inside["slurm"]["srun_args"] == nlohmann::json({"--network=site", "--network=pool"}));
    BOOST_TEST(inside["environment"]["environment_variables"]["cuda"] ==
               nlohmann::json({"DET_HOST_SUFFIX=i", "DET_INTER_NODE_NETWORK_INTERFACE=hsn0"}));
    auto const outside = merged(site_defaults(site, nullptr));
    BOOST_TEST(outside["max_restarts"] == 1);
    BOOST_TEST(outside["environment"]["environment_variables"]["cpu"] ==
               nlohmann::json({"DET_HOST_SUFFIX=i", "DET_INTER_NODE_NETWORK_INTERFACE=eth0"}));
    auto const above = merged(site_invariants(site, &site.pools[0]));
    BOOST_TEST(above["max_restarts"] == 7);  // the site's invariants take precedence
    BOOST_TEST(above["debug"] == true);
    BOOST_TEST(site_defaults(SiteFile{}, nullptr).empty());
}

BOOST_AUTO_TEST_CASE(times_are_read_as_slurm_reads_them) {
    struct Row {
        std::string_view text;
        std::optional<std::int64_t> seconds;
    };
    for (auto const& row : std::initializer_list<Row>{{"90", 5400},
                                                      {"90:30", 5430},
                                                      {"12:00:00", 43200},
                                                      {"2-12", 216000},
                                                      {"2-12:30", 217800},
                                                      {"2-12:30:05", 217805},
                                                      {"UNLIMITED", std::nullopt},
                                                      {"", std::nullopt},
                                                      {"-1", std::nullopt},
                                                      {"1:2:3:4", std::nullopt},
                                                      {"99999999999", std::nullopt},
                                                      {"1-", std::nullopt}}) {
        BOOST_TEST((parse_time_limit_s(row.text) == row.seconds), row.text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
