// How a pool determines the nodes of a trial and the options of sbatch.
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "golden.hpp"
#include "plan_support.hpp"

using namespace det;
using namespace det::plan;

namespace pool_test {

slurm::NodeGroup nodes(int count, std::string gres, std::string names, std::string state = "idle") {
    return {count, 64, std::move(state), std::move(gres), "(null)", std::move(names)};
}

/// A site with the partition `gpu` of these nodes, the partition `cpu`, and the pools of the site file.
site::Site site_of(std::vector<slurm::NodeGroup> groups, std::string const& file = "") {
    slurm::Partition gpu{"gpu", true, true, "REQUEUE", std::chrono::seconds(30), std::move(groups)};
    slurm::Partition cpu{"cpu", false, true, "OFF", {}, {{2, 16, "idle", "(null)", "(null)", "c[0-1]"}}};
    return site::make_site({gpu, cpu}, must(config::parse_site_file("version: 1\n" + file, "site.yaml")));
}

site::Site even_site(int count, int gpus, std::string const& file = "") {
    return site_of({nodes(count, "gpu:" + std::to_string(gpus), "n[0-" + std::to_string(count - 1) + "]")},
                   file);
}

/// Two nodes of eight GPUs and two nodes of four, without GPU types.
site::Site uneven_site(std::string const& file = "") {
    return site_of({nodes(2, "gpu:8", "b[0-1]"), nodes(2, "gpu:4", "s[0-1]")}, file);
}

std::string refusal(config::ExperimentConfig const& config, site::Site const& site) {
    return explain(must_fail(plan_submission(config, site)));
}

std::string warnings_of(SubmissionPlan const& plan) { return explain(plan.warnings); }

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string options_of(SubmissionPlan const& plan) {
    auto options = plan::sbatch_command_line_options(plan, ExperimentLayout("/det/experiments/7"), "abc");
    std::erase_if(options, [](auto const& option) {
        return option.starts_with("--output=") || option.starts_with("--comment=") || option == "--chdir=/";
    });
    return join(options, " ");
}

/// Two nodes of eight GPUs, 64 CPUs and 512,000 MiB.
slurm::Partition large_partition() {
    slurm::NodeGroup group{2, 64, "idle", "gpu:a100:8", "(null)", "n[0-1]", 512'000};
    return {"gpu", true, true, "OFF", {}, {group}};
}

site::Pool large_pool(slurm::MemoryLimit const& limit = {}, std::string const& file = "") {
    auto partition = large_partition();
    partition.memory_max = limit;
    return site::make_site({partition}, must(config::parse_site_file("version: 1\n" + file, "site.yaml")))
        .pools.at(0);
}

site::Site only(site::Pool pool) {
    site::Site site;
    site.default_pools = {pool.name, pool.name};
    site.pools.push_back(std::move(pool));
    return site;
}

std::string script_for(std::string const& config, site::Pool const& pool) {
    return script_of(must(plan_submission(config_of(config), only(pool))));
}

}  // namespace pool_test

BOOST_AUTO_TEST_SUITE(pool_test)

// The numbers of the test vectors are those of the reference.
BOOST_AUTO_TEST_CASE(vector_62_twelve_slots_on_nodes_of_eight_never_fit) {
    auto const text = refusal(with_slots(12), even_site(2, 8));
    BOOST_TEST(has(text, "12 slots are no whole number of nodes: pool 'gpu' has 2 nodes of 8 slots"), text);
    BOOST_TEST(has(text, "use 8 or 16"), text);
}

BOOST_AUTO_TEST_CASE(vector_63_sixteen_slots_are_two_whole_nodes) {
    auto const plan = must(plan_submission(with_slots(16), even_site(2, 8)));
    BOOST_TEST((plan.shape == TrialShape{2, 8, SlotType::cuda}));
    BOOST_TEST(warnings_of(plan) == "");
    auto const script = script_of(plan);
    BOOST_TEST(has(script, "#SBATCH --nodes=2\n"), script);
    BOOST_TEST(has(script, "#SBATCH --exclusive\n"), script);  // a node that is partly used is waited for
    BOOST_TEST(has(script, "#SBATCH --gres=gpu:8\n"), script);
}

BOOST_AUTO_TEST_CASE(vector_64_kinds_of_nodes_are_mixed_only_where_the_pool_says_so) {
    auto const eight = must(plan_submission(with_slots(8), uneven_site()));
    BOOST_TEST((eight.shape == TrialShape{1, 8, SlotType::cuda}));
    auto const text = refusal(with_slots(12), uneven_site());
    BOOST_TEST(has(text, "2 nodes of 8 slots and 2 nodes of 4 slots"), text);
    BOOST_TEST(has(text, "use 8 or 16"), text);
    auto const mixed = uneven_site("pools: [{name: gpu, mixed_nodes: true}]\n");
    auto const plan = must(plan_submission(with_slots(12), mixed));
    BOOST_TEST((plan.shape == TrialShape{3, 4, SlotType::cuda}));
    BOOST_TEST(plan.exclude == "");
    BOOST_TEST(has(script_of(plan), "--gres=gpu:4\n"));
    BOOST_TEST(has(refusal(with_slots(20), mixed), "use 16"), refusal(with_slots(20), mixed));
}

BOOST_AUTO_TEST_CASE(vector_65_and_66_slots_are_whole_nodes) {
    BOOST_TEST(has(refusal(with_slots(10), even_site(4, 4)), "use 8 or 12"));
    auto const file = "pools: [{name: cpu, slots_per_node: 8}]\n";
    auto const plan = must(plan_submission(config_of("resources: {slots_per_trial: 16, resource_pool: cpu}"),
                                           even_site(1, 4, file)));
    BOOST_TEST((plan.shape == TrialShape{2, 8, SlotType::cpu}));
    BOOST_TEST(!has(script_of(plan), "--gres"));
}

BOOST_AUTO_TEST_CASE(vector_67_a_type_of_gpu_is_asked_for_by_name) {
    auto const site = site_of({nodes(2, "gpu:tesla:4(S:0-1)", "t[0-1]"), nodes(2, "gpu:a100:4", "a[0-1]")});
    auto const tesla =
        must(plan_submission(config_of("resources: {slots_per_trial: 8}\nslurm: {gpu_type: tesla}"), site));
    BOOST_TEST(has(script_of(tesla), "--gres=gpu:tesla:4\n"), script_of(tesla));
    BOOST_TEST(tesla.exclude == "");  // --gres with the type is enough
    auto const text = refusal(config_of("slurm:\n  gpu_type: h100\n"), site);
    BOOST_TEST(has(text, "exp.yaml:2:13: error: pool 'gpu' has no GPUs of type 'h100'"), text);
    BOOST_TEST(has(text, "types there: a100, tesla"), text);
    auto const of_pool =
        site_of({nodes(2, "gpu:a100:4", "a[0-1]")}, "pools: [{name: gpu, gpu_type: a100}]\n");
    BOOST_TEST(has(script_of(must(plan_submission(with_slots(4), of_pool))), "--gres=gpu:a100:4\n"));
    // The same with another resource in the user's own --gres.
    auto const more = must(plan_submission(config_of("slurm: {sbatch_args: ['--gres=nic:1']}"), of_pool));
    BOOST_TEST(has(options_of(more), "--gres=gpu:a100:4,nic:1"));
}

BOOST_AUTO_TEST_CASE(a_site_names_jobs_after_their_experiments) {
    auto const named = [&](std::string const& pattern, std::string const& name) {
        auto const file = pattern.empty() ? "" : "job_name: '" + pattern + "'\n";
        return options_of(must(plan_submission(config_of("name: '" + name + "'\n"), even_site(2, 8, file))));
    };
    BOOST_TEST(named("", "digits") == "--partition=gpu");
    BOOST_TEST(named("exp-%i", "digits") == "--partition=gpu");
    BOOST_TEST(named("%n-%i", "digits") == "--partition=gpu --job-name=digits-7");
    BOOST_TEST(named("det.%i.%n", "my run/%i\u00e9 $(id)") ==
               "--partition=gpu --job-name=det.7.my_run__i_____id_");
    BOOST_TEST(named("%n", std::string(65, 'a')) == "--partition=gpu --job-name=" + std::string(64, 'a'));
}

BOOST_AUTO_TEST_CASE(a_pool_may_leave_the_choice_of_the_partition_to_qos_and_constraint) {
    auto const site = even_site(
        2, 8,
        "pools: [{name: fast, partition: gpu, pass_partition: false, qos: regular, reservation: course}]\n");
    auto const plan =
        must(plan_submission(config_of("resources: {slots_per_trial: 8, resource_pool: fast}"), site));
    BOOST_TEST(options_of(plan) == "--qos=regular --reservation=course");
    BOOST_TEST((plan.shape == TrialShape{1, 8, SlotType::cuda}));  // the nodes are those of the partition
}

BOOST_AUTO_TEST_CASE(of_several_partitions_the_first_says_which_nodes_a_pool_has) {
    auto const site = even_site(2, 8, "pools: [{name: either, partition: 'gpu,spare'}]\n");
    auto const plan =
        must(plan_submission(config_of("resources: {slots_per_trial: 8, resource_pool: either}"), site));
    BOOST_TEST(options_of(plan) == "--partition=gpu,spare");
    BOOST_TEST((plan.shape == TrialShape{1, 8, SlotType::cuda}));
}

BOOST_AUTO_TEST_CASE(vector_70_the_project_is_the_wckey) {
    auto const labels = config_of("labels: [proj_b, x, proj_a]\nworkspace: w\nproject: p\n");
    auto const wckey = [&](std::string const& source) {
        auto const file = source.empty() ? "" : "job_project_source: '" + source + "'\n";
        return options_of(must(plan_submission(labels, even_site(2, 8, file))));
    };
    BOOST_TEST(wckey("label:proj_") == "--partition=gpu --wckey=a,b");
    BOOST_TEST(wckey("label") == "--partition=gpu --wckey=proj_a,proj_b,x");
    BOOST_TEST(wckey("label:none") == "--partition=gpu");
    BOOST_TEST(wckey("project") == "--partition=gpu --wckey=p");
    BOOST_TEST(wckey("workspace") == "--partition=gpu --wckey=w");
    BOOST_TEST(wckey("") == "--partition=gpu");
    auto const quoted = config_of("labels: ['a\"b', \"c\\nd\"]\n");
    BOOST_TEST(options_of(must(plan_submission(quoted, even_site(2, 8, "job_project_source: label\n")))) ==
               "--partition=gpu --wckey=ab,cd");
}

BOOST_AUTO_TEST_CASE(small_trials_get_the_smallest_node_that_is_large_enough_and_no_other) {
    auto const four = must(plan_submission(with_slots(4), uneven_site()));
    BOOST_TEST((four.shape == TrialShape{1, 4, SlotType::cuda}));
    BOOST_TEST(four.exclude == "b[0-1]");
    BOOST_TEST(has(options_of(four), "--exclude=b[0-1]"));
    auto const two_small = must(plan_submission(
        config_of("resources: {slots_per_trial: 8}\nslurm: {slots_per_node: 4}"), uneven_site()));
    BOOST_TEST((two_small.shape == TrialShape{2, 4, SlotType::cuda}));
    auto const excluded = must(plan_submission(
        config_of("resources: {slots_per_trial: 4}\nslurm: {sbatch_args: ['-x', 's1']}"), uneven_site()));
    BOOST_TEST(has(options_of(excluded), "--exclude=b[0-1],s1"), options_of(excluded));
}

BOOST_AUTO_TEST_CASE(nodes_that_are_out_are_a_warning_or_another_kind_of_node) {
    auto const drained = site_of({nodes(2, "gpu:8", "b[0-1]"), nodes(2, "gpu:4", "s[0-1]", "drained")});
    BOOST_TEST((must(plan_submission(with_slots(4), drained)).shape == TrialShape{1, 4, SlotType::cuda}));
    BOOST_TEST(must(plan_submission(with_slots(4), drained)).exclude == "");  // b are those that are up
    auto const one = site_of({nodes(1, "gpu:8", "n0"), nodes(1, "gpu:8", "n1", "down*")});
    auto const plan = must(plan_submission(with_slots(16), one));
    check_golden("plan/nodes_out.txt", warnings_of(plan));
    BOOST_TEST(!plan.warnings.has_errors());
    BOOST_TEST(warnings_of(must(plan_submission(with_slots(8), one))) == "");
}

BOOST_AUTO_TEST_CASE(slots_per_node_of_a_configuration_are_at_most_those_of_the_nodes) {
    auto const plan = must(plan_submission(
        config_of("resources: {slots_per_trial: 4}\nslurm: {slots_per_node: 2}"), even_site(4, 8)));
    BOOST_TEST((plan.shape == TrialShape{2, 2, SlotType::cuda}));
    BOOST_TEST(has(script_of(plan), "--gres=gpu:2\n"));
    auto const text = refusal(config_of("slurm:\n  slots_per_node: 16\n"), even_site(4, 8));
    BOOST_TEST(has(text, "exp.yaml:2:19: error: slurm.slots_per_node is 16"), text);
    BOOST_TEST(has(text, "use at most 8"), text);
}

BOOST_AUTO_TEST_CASE(trials_without_slots_go_to_the_aux_pool_and_ask_for_no_gpus) {
    auto const to_cpu = even_site(2, 8, "default_aux_pool: cpu\n");
    auto const plan = must(plan_submission(with_slots(0), to_cpu));
    BOOST_TEST(plan.pool.name == "cpu");
    BOOST_TEST((plan.shape == TrialShape{1, 0, SlotType::cpu}));
    auto const named =
        must(plan_submission(config_of("resources: {slots_per_trial: 0, resource_pool: gpu}"), to_cpu));
    BOOST_TEST(named.pool.name == "gpu");
    BOOST_TEST(!has(script_of(named), "--gres"), script_of(named));
    BOOST_TEST(must(plan_submission(with_slots(1), to_cpu)).pool.name == "gpu");
}

BOOST_AUTO_TEST_CASE(what_a_pool_says_is_asked_of_sbatch) {
    auto const site = even_site(
        2, 8,
        "pools:\n"
        "  - {name: fast, partition: gpu, qos: high, account: ml, reservation: r, constraint: 'a|b',\n"
        "     whole_memory: false, limits: {time: 90}}\n");
    auto const plan = must(plan_submission(
        config_of("resources: {resource_pool: fast}\nslurm: {sbatch_args: ['--account=mine']}"), site));
    BOOST_TEST(options_of(plan) ==
               "--partition=gpu --qos=high --account=mine --reservation=r --constraint=a|b --time=90");
    BOOST_TEST(!has(script_of(plan), "--mem"), script_of(plan));
}

BOOST_AUTO_TEST_CASE(what_a_pool_does_not_give_is_refused_with_the_numbers) {
    auto const site =
        even_site(8, 8,
                  "pools:\n"
                  "  - name: gpu\n"
                  "    qos: normal\n"
                  "    limits: {slots_per_trial: 40, nodes_per_trial: 4, time: '1-00:00:00'}\n");
    check_golden("plan/limits.txt", refusal(config_of("resources:\n  slots_per_trial: 48\nslurm:\n"
                                                      "  sbatch_args: ['--qos=high', '--time=2-00:00:00']\n"),
                                            site));
    BOOST_TEST(has(refusal(config_of("slurm: {sbatch_args: ['--time=UNLIMITED']}"), site), "1-00:00:00"));
    auto const fine =
        must(plan_submission(config_of("slurm: {sbatch_args: ['--time=60', '--qos=normal']}"), site));
    BOOST_TEST(fine.time_limit == "");
    auto partition = slurm::Partition{"gpu", true, true, "OFF", {}, {nodes(4, "gpu:8", "n[0-3]")}};
    partition.nodes_max = 2;
    partition.time_max = "1:00:00";
    auto const narrow = site::make_site({partition});
    BOOST_TEST(has(refusal(with_slots(32), narrow), "more than the 2 that a trial may have"),
               refusal(with_slots(32), narrow));
    BOOST_TEST(
        has(refusal(config_of("slurm: {sbatch_args: [-t2-0]}"), narrow), "partition 'gpu' gives a job"));
}

BOOST_AUTO_TEST_CASE(gpus_that_slurm_does_not_know_of_are_not_asked_for) {
    auto const site = even_site(2, 8, "pools: [{name: cpu, slot_type: rocm, slots_per_node: 4}]\n");
    auto const plan =
        must(plan_submission(config_of("resources: {slots_per_trial: 8, resource_pool: cpu}"), site));
    BOOST_TEST((plan.shape == TrialShape{2, 4, SlotType::rocm}));
    BOOST_TEST(!has(script_of(plan), "--gres"));
}

BOOST_AUTO_TEST_CASE(a_trial_on_a_shared_node_asks_for_its_slots_and_their_share) {
    std::string const asked =
        "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task=16\n#SBATCH --mem=128000M\n"
        "#SBATCH --gres=gpu:2\n";
    std::string const two = "resources: {slots_per_trial: 2}\n";
    auto const shared_pool = large_pool({}, "pools: [{name: gpu, exclusive: false}]\n");
    for (auto const& script :
         {script_for(two, shared_pool), script_for(two + "slurm: {exclusive: false}\n", large_pool()),
          script_for("resources: {slots_per_trial: 2, is_single_node: true}\n", large_pool())}) {
        BOOST_TEST(has(script, asked), script);
        BOOST_TEST(!has(script, "--exclusive"), script);
    }
    for (auto const& script :
         {script_for(two + "slurm: {exclusive: true}\n", shared_pool),
          script_for(two + "slurm: {sbatch_args: [--exclusive]}\n", shared_pool),
          script_for("resources: {slots_per_trial: 8, is_single_node: true}\n", large_pool())})
        BOOST_TEST(has(script, "#SBATCH --exclusive\n#SBATCH --mem=0\n#SBATCH --gres=gpu:8\n"), script);
    auto const typed = script_for(two + "slurm: {exclusive: false, gpu_type: a100}\n", large_pool());
    BOOST_TEST(has(typed, "#SBATCH --gres=gpu:a100:2\n"), typed);
    auto const own = script_for(
        two + "slurm: {exclusive: false, sbatch_args: [--cpus-per-task=3, --mem=8G]}\n", large_pool());
    BOOST_TEST(!has(own, "--cpus-per-task"), own);
    BOOST_TEST(!has(own, "--mem"), own);
    auto const aux = script_for("resources: {slots_per_trial: 0}\n", shared_pool);
    BOOST_TEST(has(aux, "#SBATCH --cpus-per-task=8\n#SBATCH --mem=64000M\n#SBATCH --requeue"), aux);
}

BOOST_AUTO_TEST_CASE(trials_of_a_search_on_shared_nodes_are_jobs_of_their_own_unless_they_are_packed) {
    std::string const search =
        "searcher: {name: random, metric: loss, max_trials: 8}\nhyperparameters: {a: {type: int, minval: 1, "
        "maxval: 9}}\nslurm: {exclusive: false";
    auto const alone = must(plan_submission(config_of(search + "}\n"), only(large_pool())));
    BOOST_TEST(alone.lanes == 1u);
    BOOST_TEST(alone.node.gpus == 1);
    auto const packed =
        must(plan_submission(config_of(search + ", trials_per_node: 4}\n"), only(large_pool())));
    BOOST_TEST(packed.lanes == 4u);
    BOOST_TEST(has(script_of(packed), "--cpus-per-task=32\n#SBATCH --mem=256000M\n#SBATCH --gres=gpu:4\n"),
               script_of(packed));
}

BOOST_AUTO_TEST_CASE(a_job_that_holds_more_slots_than_its_trials_use_is_a_warning_with_ways_out) {
    auto const warning = [](std::string const& config, site::Pool const& pool) {
        return warnings_of(must(plan_submission(config_of(config), only(pool))));
    };
    auto const text = warning("resources:\n  slots_per_trial: 1\n", large_pool());
    BOOST_TEST(
        has(text,
            "exp.yaml:2:20: warning: a trial asks for 1 slot, and its job holds 8: jobs get whole nodes"),
        text);
    BOOST_TEST(has(text, "set 'slurm: {exclusive: false}'"), text);
    BOOST_TEST(warning("resources: {slots_per_trial: 1}\nslurm: {exclusive: true}\n", large_pool()) == "");
    BOOST_TEST(warning("resources: {slots_per_trial: 1}\nslurm: {exclusive: false}\n", large_pool()) == "");
    BOOST_TEST(warning("resources: {slots_per_trial: 8}\n", large_pool()) == "");
    BOOST_TEST(warning("resources: {slots_per_trial: 16}\n", large_pool()) == "");
    auto const search = warning(
        "resources: {slots_per_trial: 2}\nsearcher: {name: random, metric: loss, max_trials: 3}\n"
        "hyperparameters: {a: {type: int, minval: 1, maxval: 9}}\n",
        large_pool());
    BOOST_TEST(has(search, "the 3 trials of a job ask for 6 slots, and its job holds 8"), search);
    BOOST_TEST(has(search, "slurm.trials_per_node"), search);
    auto const noted =
        warning("resources: {slots_per_trial: 8}\nslurm: {sbatch_args: [--exclusive]}\n", large_pool());
    BOOST_TEST(has(noted, "warning: --exclusive has no effect: jobs get whole nodes anyway"), noted);
}

BOOST_AUTO_TEST_CASE(a_partition_that_gives_whole_nodes_only_does_not_share_them) {
    auto partition = large_partition();
    partition.oversubscribe = "EXCLUSIVE";
    auto const plan =
        must(plan_submission(config_of("slurm:\n  exclusive: false\n"), site::make_site({partition})));
    BOOST_TEST(has(script_of(plan), "--exclusive\n"), script_of(plan));
    BOOST_TEST(
        has(warnings_of(plan), "exp.yaml:2:14: warning: slurm.exclusive is false, but partition 'gpu' gives"),
        warnings_of(plan));
    BOOST_TEST(has(warnings_of(plan), "use all of its slots"), warnings_of(plan));
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_node_is_a_number_where_a_limit_is_below_it) {
    std::string const whole = "resources: {slots_per_trial: 8}\n";
    BOOST_TEST(has(script_for(whole, large_pool({400'000, {}})), "#SBATCH --mem=400000M\n"));
    BOOST_TEST(has(script_for(whole, large_pool({512'000, {}})), "#SBATCH --mem=0\n"));
    BOOST_TEST(has(script_for(whole, large_pool({511'999, {}})), "#SBATCH --mem=511999M\n"));
    BOOST_TEST(has(script_for(whole, large_pool({{}, 4'000})), "#SBATCH --mem=256000M\n"));
    BOOST_TEST(has(script_for(whole, large_pool({{}, 8'000})), "#SBATCH --mem=0\n"));
    auto of_cluster = large_pool();
    site::apply_cluster_memory_limit(of_cluster, slurm::parse_cluster_config("MaxMemPerCPU = 2000\n"));
    BOOST_TEST(has(script_for(whole, of_cluster), "#SBATCH --mem=128000M\n"));
    site::apply_cluster_memory_limit(of_cluster, slurm::parse_cluster_config("MaxMemPerNode = 1000\n"));
    BOOST_TEST(has(script_for(whole, of_cluster), "#SBATCH --mem=128000M\n"));  // the first one stays
    auto unlimited = large_pool();
    site::apply_cluster_memory_limit(unlimited, slurm::parse_cluster_config("MaxMemPerNode = UNLIMITED\n"));
    BOOST_TEST(has(script_for(whole, unlimited), "#SBATCH --mem=0\n"));
    std::string const shared = "resources: {slots_per_trial: 2}\nslurm: {exclusive: false}\n";
    BOOST_TEST(has(script_for(shared, large_pool({100'000, {}})), "#SBATCH --mem=100000M\n"));
    BOOST_TEST(has(script_for(shared, large_pool({{}, 4'000})), "#SBATCH --mem=64000M\n"));
}

BOOST_AUTO_TEST_CASE(gpus_of_several_types_on_a_node_need_a_type) {
    auto const site = site_of({nodes(2, "gpu:a100:4(S:0-1),gpu:1g.10gb:28", "n[0-1]")});
    auto const text = refusal(config_of("resources:\n  slots_per_trial: 4\n"), site);
    BOOST_TEST(has(text, "the nodes of pool 'gpu' have GPUs of several types, and none is chosen"), text);
    BOOST_TEST(has(text, "set slurm.gpu_type, one of: 1g.10gb, a100"), text);
    auto const a100 =
        must(plan_submission(config_of("resources: {slots_per_trial: 4}\nslurm: {gpu_type: a100}"), site));
    BOOST_TEST(has(script_of(a100), "--gres=gpu:a100:4\n"), script_of(a100));
    BOOST_TEST(a100.exclude == "");
    auto const slices = must(
        plan_submission(config_of("resources: {slots_per_trial: 28}\nslurm: {gpu_type: 1g.10gb}"), site));
    BOOST_TEST(has(script_of(slices), "--gres=gpu:1g.10gb:28\n"), script_of(slices));
    auto const of_pool =
        site_of({nodes(2, "gpu:a100:4,gpu:1g.10gb:28", "n[0-1]")}, "pools: [{name: gpu, gpu_type: a100}]\n");
    BOOST_TEST(has(script_of(must(plan_submission(with_slots(4), of_pool))), "--gres=gpu:a100:4\n"));
}

BOOST_AUTO_TEST_CASE(a_pool_without_nodes_takes_no_trials) {
    auto const site = even_site(2, 8, "pools: [{name: lost, partition: gone}]\n");
    auto const text = refusal(config_of("resources: {resource_pool: lost}"), site);
    BOOST_TEST(has(text, "pool 'lost' has no nodes: its partition is 'gone'"), text);
}

BOOST_AUTO_TEST_CASE(what_must_be_on_a_single_node_is_refused_where_it_needs_two) {
    auto const with = [](int slots) {
        return config_of("resources: {is_single_node: true, slots_per_trial: " + std::to_string(slots) +
                         "}\n");
    };
    auto const text = refusal(with(16), even_site(2, 8));
    BOOST_TEST(has(text, "16 slots don't fit on a single node"), text);
    BOOST_TEST(must(plan_submission(with(8), even_site(2, 8))).nodes() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
