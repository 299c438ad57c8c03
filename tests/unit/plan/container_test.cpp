#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/container_call.hpp>

#include <boost/test/unit_test.hpp>

#include "golden.hpp"
#include "plan_support.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::plan;

namespace container_test {

site::Site site_with(ContainerRuntime runtime) {
    slurm::Partition cpus{"cpu", true, true, "OFF", {}, {{2, 4, "idle", "(null)"}}};
    auto site = site::make_site({cpus});
    site.pools[0].container_runtime = runtime;
    return site;
}

constexpr char with_image[] = R"(
environment:
  image: {cpu: 'ubuntu:22.04', cuda: other}
  force_pull_image: true
  registry_auth: {username: me, password: hidden}
bind_mounts:
  - {host_path: /data, container_path: data, read_only: true}
resources:
  shm_size: 4k
  devices: ['/dev/fuse:/dev/fuse']
slurm: {exclusive: true}
)";

std::string warnings(SubmissionPlan const& plan) { return explain(plan.warnings); }

}  // namespace container_test

BOOST_AUTO_TEST_SUITE(container_test)

BOOST_AUTO_TEST_CASE(an_image_becomes_a_container_of_the_pools_runtime) {
    auto const plan = must(plan_submission(config_of(with_image), site_with(ContainerRuntime::podman)));
    auto const& container = plan.container.value();
    BOOST_TEST(container.image == "ubuntu:22.04");
    BOOST_TEST(container.pulls_always);
    BOOST_TEST(container.shm_size_bytes == 4096u);
    BOOST_TEST((container.mounts ==
                std::vector<ContainerMount>{{"/data", "/run/determined/workdir/data", true, "rprivate"}}));
    BOOST_TEST((container.devices == std::vector<ContainerDevice>{{"/dev/fuse", "/dev/fuse", "mrw"}}));
    BOOST_TEST(warnings(plan) == "");
}

BOOST_AUTO_TEST_CASE(what_a_runtime_does_not_act_on_is_said) {
    auto const plan = must(plan_submission(config_of(with_image), site_with(ContainerRuntime::enroot)));
    BOOST_TEST(plan.container.value().image == "ubuntu+22.04");
    check_golden("plan/enroot_warnings.txt", warnings(plan));
}

BOOST_AUTO_TEST_CASE(an_image_where_no_containers_run_is_a_warning_with_its_place) {
    auto const plan = must(plan_submission(config_of(with_image), site_with(ContainerRuntime::none)));
    BOOST_TEST(!plan.container.has_value());
    check_golden("plan/image_without_runtime.txt", warnings(plan));
}

BOOST_AUTO_TEST_CASE(a_container_that_is_required_where_none_runs_is_an_error) {
    auto const required = [](std::string const& image) {
        return config_of("slurm: {container: required}\n" + image);
    };
    auto const refusal = [](config::ExperimentConfig const& config, ContainerRuntime runtime) {
        return explain(must_fail(plan_submission(config, site_with(runtime))));
    };
    auto const with = required("environment: {image: 'ubuntu:22.04'}\n");
    auto const text = refusal(with, ContainerRuntime::none);
    BOOST_TEST(text.find("pool 'cpu' runs no containers, so image 'ubuntu:22.04' can't be used") !=
                   std::string::npos,
               text);
    BOOST_TEST(must(plan_submission(with, site_with(ContainerRuntime::podman))).container.has_value());
    auto const other =
        refusal(required("environment: {image: {cuda: 'ubuntu:22.04'}}\n"), ContainerRuntime::podman);
    BOOST_TEST(other.find("there is no image for slots of type 'cpu'") != std::string::npos, other);
}

BOOST_AUTO_TEST_CASE(the_sites_own_image_is_passed_over_where_no_containers_run) {
    auto site = site_with(ContainerRuntime::none);
    site.file = "exp.yaml";  // as if the site's defaults had said it
    auto const plan = must(plan_submission(config_of("environment: {image: 'site:1'}\n"), site));
    BOOST_TEST(!plan.container.has_value());
    BOOST_TEST(warnings(plan).find("the site's image 'site:1' is not used") != std::string::npos,
               warnings(plan));
}

BOOST_AUTO_TEST_CASE(without_an_image_there_is_no_container) {
    auto const plan = must(
        plan_submission(config_of("resources: {slots_per_trial: 1}\n"), site_with(ContainerRuntime::podman)));
    BOOST_TEST(!plan.container.has_value());
}

BOOST_AUTO_TEST_CASE(only_podman_propagates_mounts) {
    auto const config = config_of(
        "environment: {image: i}\n"
        "resources: {slots_per_trial: 4}\n"
        "bind_mounts: [{host_path: /d, container_path: /d, propagation: rshared}]\n");
    auto const with = [&](ContainerRuntime runtime) {
        return warnings(must(plan_submission(config, site_with(runtime))));
    };
    BOOST_TEST(with(ContainerRuntime::podman) == "");
    BOOST_TEST(with(ContainerRuntime::apptainer).find("bind_mounts.propagation has no effect") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_would_be_read_as_something_else_is_refused) {
    for (auto const* text :
         {"environment: {image: '--privileged'}\n",
          "environment: {image: x}\nbind_mounts: [{host_path: '/a:b', container_path: /c}]\n"}) {
        must_fail(plan_submission(config_of(text), site_with(ContainerRuntime::podman)));
    }
}

BOOST_AUTO_TEST_CASE(the_templates_for_other_runtimes_give_these_command_lines) {
    auto const text = must(read_file(det::test::source_path("site-configs/container-runtimes.yaml")));
    auto const file = must(config::parse_site_file(text, "container-runtimes.yaml"));
    BOOST_TEST(file.warnings.empty());
    std::vector<slurm::Partition> partitions;
    for (auto const& pool : file.pools)
        partitions.push_back({pool.name, false, true, "OFF", {}, {{2, 64, "idle", "gpu:4", "", "n[0-1]"}}});
    std::string lines;
    for (auto const& pool : file.pools) {
        auto const plan = must(plan_submission(config_of("resources: {resource_pool: " + pool.name +
                                                         "}\nenvironment: {image: 'team/torch:2'}\n"),
                                               site::make_site(partitions, file)));
        launch::node::ContainerCall call;
        call.container = plan.container.value();
        call.slot_type = plan.shape.slot_type;
        call.run_dir = "/tmp/det/run";
        call.directories = {"/shared/det"};
        call.programs = "/opt/det/bin";
        call.command = {"python3", "train.py"};
        call.environment = Environment({{"DET_TRIAL_ID", "7"}, {"HOME", "/home/me"}});
        lines += pool.name + "\n  srun " + join(launch::node::render_template_options(call, "/tmp"), " ") +
                 "\n  " + join(launch::node::render_container(call).argv, " ") + "\n";
        auto const import = launch::node::render_import(call.container, "/images/x");
        if (!import.empty()) lines += "  import: " + join(import, " ") + "\n";
    }
    check_golden("plan/container_runtimes.txt", lines);
}

BOOST_AUTO_TEST_SUITE_END()
