// The command lines of launchers, as golden files with one argument a line.
#include <det/foundation/text.hpp>
#include <det/launch/launchers/launchers.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/trial_class.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::launch::launchers;

namespace launchers_test {

using Arguments = std::vector<std::string>;

/// The chief of two nodes with four slots each.
LaunchContext context(int node = 0) {
    LaunchContext context;
    context.rendezvous = {"n[0-1]", "4(x2)", node};
    context.environment = Environment({{"MASTER_PORT", "31000"}, {"PATH", "/bin"}, {"SLURM_JOBID", "7"}});
    context.run_dir = "/tmp/run";
    context.wrap_rank = "/opt/det-wrap-rank";
    context.det_launch = "/opt/det-launch";
    return context;
}

LaunchContext single_node_topology() {
    auto one = context();
    one.rendezvous = {"n0", "2", 0};
    return one;
}

std::string words(LaunchPlan const& plan) {
    BOOST_REQUIRE(plan.processes.size() == 1u);
    return join(plan.processes[0].argv, "\n") + "\n";
}

std::string variable(LaunchPlan const& plan, std::string_view name) {
    return plan.processes.at(0).environment.find(name).value_or("(none)");
}

void check_usage(Result<LaunchPlan> const& plan, std::string_view words_of_it) {
    auto const error = must_fail(plan);
    BOOST_TEST((error.code == codes::usage), error.message);
    BOOST_TEST(error.message.find(words_of_it) != std::string::npos, error.message);
}

}  // namespace launchers_test

BOOST_AUTO_TEST_SUITE(launchers_test)

BOOST_AUTO_TEST_CASE(torch_is_started_on_each_node_with_its_own_number) {
    Arguments const train{"python3", "train.py", "--", "--lr", "0.1"};
    auto const plan = must(plan_torch_distributed(train, context(1)));
    check_golden("launch/torch_distributed.txt", words(plan));
    BOOST_TEST(variable(plan, "USE_TORCH_DISTRIBUTED") == "True");
    BOOST_TEST(variable(plan, "DET_CHIEF_IP") == "n0");
    BOOST_TEST(!plan.port.has_value());  // only the chief listens
    BOOST_TEST(must(plan_torch_distributed(train, context())).port.value() == 31000);
}

BOOST_AUTO_TEST_CASE(torch_overrides_follow_the_plans_options_and_trial_classes_become_commands) {
    auto one = single_node_topology();
    one.torch_needs_redirects = true;
    auto const plan = must(plan_torch_distributed(
        {"--rdzv_endpoint=n9:1", "--max_restarts", "3", "--", "--trial", "model_def:MyTrial"}, one));
    check_golden("launch/torch_distributed_overrides.txt", words(plan));
}

BOOST_AUTO_TEST_CASE(arguments_are_protected_from_torchruns_substitution) {
    auto const plan = must(plan_torch_distributed({"sh", "-c", "echo $$ $RANK ${local_rank}"}, context()));
    BOOST_TEST(plan.processes[0].argv.back() == "echo $$$$ $$RANK ${local_rank}");
}

BOOST_AUTO_TEST_CASE(old_torch_on_new_python_needs_redirects) {
    for (auto const* pair : {"3 11 1.13.1\n", "3 12 1.13.0a0+gitunknown\n"})
        BOOST_TEST(needs_redirects(pair));
    for (auto const* pair : {"3 10 1.13.1\n", "3 11 2.0.1\n", "3 11 2.10.0\n", "", "3 11\n", "x y 1.0"}) {
        BOOST_TEST(!needs_redirects(pair));
    }
}

BOOST_AUTO_TEST_CASE(ranks_of_a_torch_without_libuv_start_without_torchrun) {
    BOOST_TEST(lacks_libuv("3 13 2.6.0 no-libuv\n"));
    BOOST_TEST(!lacks_libuv("3 13 2.6.0\n"));
    auto one = single_node_topology();
    BOOST_TEST(variable(must(plan_torch_distributed({"x"}, one)), "USE_LIBUV") == "(none)");
    one.torch_lacks_libuv = true;
    auto const plan = must(plan_torch_distributed({"x"}, one));
    BOOST_TEST(plan.processes.size() == must(plan_processes({"x"}, one)).processes.size());
    BOOST_TEST(variable(plan, "USE_LIBUV") == "0");
    BOOST_TEST(variable(plan, "RANK") == "0");
    BOOST_TEST(join(plan.processes[0].argv, " ").find("torch.distributed.run") == std::string::npos);
    auto const own = must(plan_torch_distributed({"--max_restarts", "1", "--", "x"}, one));
    BOOST_TEST(words(own).find("torch.distributed.run") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ranks_whose_interpreters_wait_start_without_torchrun) {
    auto waiting = context();
    waiting.environment.set("DET_WARM_START", "name:/directory");
    Arguments const train{"python3", "train.py"},
        with_options{"--max_restarts", "1", "--", "python3", "train.py"};
    BOOST_TEST(!uses_torchrun(train, waiting.environment));
    auto const ranks = must(plan_torch_distributed(train, waiting));
    BOOST_TEST(ranks.processes.size() == 4u);
    BOOST_TEST(ranks.processes.at(0).environment.find("OMP_NUM_THREADS").value_or("") == "1");
    BOOST_TEST(uses_torchrun(with_options, waiting.environment));
    BOOST_TEST(words(must(plan_torch_distributed(with_options, waiting))).find("torch.distributed.run") !=
               std::string::npos);
    BOOST_TEST(uses_torchrun(train, context().environment));
}

BOOST_AUTO_TEST_CASE(nodes_may_have_different_numbers_of_slots) {
    auto uneven = context(1);
    uneven.rendezvous.slot_counts = "4,2";
    BOOST_TEST(words(must(plan_torch_distributed({"x"}, uneven))).find("--nproc_per_node\n2\n") !=
               std::string::npos);
    auto const plan = must(plan_processes({"x"}, uneven));
    BOOST_REQUIRE(plan.processes.size() == 2u);
    BOOST_TEST(plan.processes[1].environment.find("RANK").value() == "5");
    BOOST_TEST(plan.processes[1].environment.find("WORLD_SIZE").value() == "6");
}

BOOST_AUTO_TEST_CASE(ranks_connect_to_the_chief_by_its_name_with_the_suffix) {
    auto many = context();
    many.environment.set("DET_HOST_SUFFIX", "i");
    for (auto const plan_launcher : {plan_torch_distributed, plan_deepspeed}) {
        auto const text = words(must(plan_launcher({"x"}, many)));
        BOOST_TEST(text.find("--master_addr\nn0i\n") != std::string::npos, text);
    }
    for (auto const plan_launcher : {plan_processes, plan_tensorflow})
        BOOST_TEST(variable(must(plan_launcher({"x"}, many)), "MASTER_ADDR") == "n0i");
    auto one = single_node_topology();
    one.environment.set("DET_HOST_SUFFIX", "i");
    BOOST_TEST(words(must(plan_torch_distributed({"x"}, one))).find("--master_addr\nlocalhost\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(horovodrun_runs_on_the_chief_and_finds_det_rsh_as_ssh) {
    auto many = context();
    many.network_interface = "ib0";
    auto const plan = must(plan_horovod({"python3", "train.py"}, many));
    check_golden("launch/horovod.txt", words(plan));
    BOOST_TEST(plan.remote_shell.value() == "/tmp/run/remote-shell");
    BOOST_TEST(variable(plan, "PATH") == "/tmp/run/remote-shell:/bin");
    BOOST_TEST(variable(plan, "SLURM_JOBID") == "(none)");
    BOOST_TEST((plan.waiting_nodes == Arguments{"n1"}));
    auto const other = must(plan_horovod({"python3", "train.py"}, context(1)));
    BOOST_TEST(other.processes.empty());
    BOOST_TEST(other.waits_for_chief);
}

BOOST_AUTO_TEST_CASE(horovodrun_gets_the_configurations_optimizations) {
    auto one = single_node_topology();
    one.config = parse_json(R"({"debug": true, "data": {"__det_dtrain_args": ["--gloo"]},
        "optimizations": {"auto_tune_tensor_fusion": true}})");
    auto const plan = must(plan_horovod({"--cycle-time-ms", "2", "--", "--trial", "m:T"}, one));
    check_golden("launch/horovod_debug.txt", words(plan));
    one.config = parse_json(R"({"optimizations": {"tensor_fusion_threshold": "much"}})");
    BOOST_TEST((must_fail(plan_horovod({"x"}, one)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(deepspeed_gets_a_hostfile_for_several_nodes) {
    auto many = context();
    many.network_interface = "ib0";
    auto const plan = must(plan_deepspeed({"python3", "train.py"}, many));
    check_golden("launch/deepspeed.txt", words(plan));
    BOOST_TEST((plan.files == std::vector<PlannedFile>{{"/tmp/run/hostfile", "n0 slots=4\nn1 slots=4\n"}}));
    BOOST_TEST(variable(plan, "DET_DEEPSPEED_HOSTFILE_PATH") == "/tmp/run/hostfile");
    BOOST_TEST(must(plan_deepspeed({"x"}, context(1))).processes.empty());
    auto const one = must(plan_deepspeed({"--", "--trial=m:T"}, single_node_topology()));
    check_golden("launch/deepspeed_one_node.txt", words(one));
    BOOST_TEST(one.files.empty());
}

BOOST_AUTO_TEST_CASE(mpirun_runs_on_the_chief_with_the_number_of_ranks) {
    auto const plan = must(plan_mpi({"--mca", "pml", "ob1", "--", "./train", "a b"}, context()));
    check_golden("launch/mpi.txt", words(plan));
    BOOST_TEST(variable(plan, "SLURM_TASKS_PER_NODE") == "4(x2)");
    BOOST_TEST(must(plan_mpi({"./train"}, context(1))).processes.empty());
}

BOOST_AUTO_TEST_CASE(processes_that_det_launch_starts_get_rank_variables) {
    auto const plan = must(plan_processes({"./train", "a b"}, context(1)));
    BOOST_REQUIRE(plan.processes.size() == 4u);
    auto const& last = plan.processes[3];
    BOOST_TEST(join(last.argv, "|") == "/opt/det-wrap-rank|RANK|/opt/det-launch|worker|./train|a b");
    for (auto const& [name, value] : std::map<std::string, std::string>{{"RANK", "7"},
                                                                        {"LOCAL_RANK", "3"},
                                                                        {"CROSS_RANK", "1"},
                                                                        {"WORLD_SIZE", "8"},
                                                                        {"LOCAL_WORLD_SIZE", "4"},
                                                                        {"MASTER_ADDR", "n0"},
                                                                        {"MASTER_PORT", "31000"},
                                                                        {"GROUP_RANK", "1"},
                                                                        {"DET_CHIEF_IP", "n0"}}) {
        BOOST_TEST(last.environment.find(name).value_or("(none)") == value, name);
    }
}

BOOST_AUTO_TEST_CASE(trials_on_one_node_use_different_ports) {
    auto const port = [](std::map<std::string, std::string, std::less<>> values) {
        auto place = context();
        place.environment = Environment(std::move(values));
        return must(plan_processes({"x"}, place)).port.value();
    };
    BOOST_TEST(port({}) == 29400);
    BOOST_TEST(port({{"DET_SLOT_IDS", "[2, 3]"}}) == 29402);
    BOOST_TEST(port({{"MASTER_PORT", "4000"}, {"DET_SLOT_IDS", "[2, 3]"}}) == 4000);
    BOOST_TEST(port({{"C10D_PORT", "5000"}, {"MASTER_PORT", "4000"}}) == 5000);
    auto place = context();
    place.environment.set("C10D_PORT", "70000");
    BOOST_TEST((must_fail(plan_processes({"x"}, place)).code == codes::bad_value));
}

BOOST_AUTO_TEST_CASE(an_invalid_command_line_is_refused_with_the_usage) {
    check_usage(plan_torch_distributed({}, context()), "a command is missing");
    check_usage(plan_horovod({"--verbose", "python3"}, context()), "no '--' follows");
    check_usage(plan_horovod({"--verbose", "--"}, context()), "a command is missing");
    check_usage(plan_deepspeed({"--trial"}, context()), "MODULE:CLASS");
    check_usage(plan_deepspeed({"--trial", "model_def"}, context()), "MODULE:CLASS");
    check_usage(plan_deepspeed({"--trial", "m:T", "more"}, context()), "exclude each other");
    check_usage(plan_mpi({"--trials=x"}, context()), "unknown option");
}

BOOST_AUTO_TEST_CASE(a_damaged_rendezvous_is_an_error) {
    for (RendezvousInfo const& bad :
         {RendezvousInfo{"n[0-1]", "4", 0}, RendezvousInfo{"n0", "4", 1}, RendezvousInfo{"n0", "4", -1}}) {
        auto place = context();
        place.rendezvous = bad;
        BOOST_TEST((must_fail(plan_processes({"x"}, place)).code == codes::damaged));
    }
}

BOOST_AUTO_TEST_CASE(tensorflow_is_one_process_per_node_with_the_addresses_of_all) {
    auto const plan = must(plan_tensorflow({"--port", "29400", "--", "python3", "train.py"}, context(1)));
    Arguments const expected{
        "/opt/det-wrap-rank", "RANK", "/opt/det-launch", "worker", "python3", "train.py"};
    BOOST_REQUIRE(plan.processes.size() == 1u);
    BOOST_TEST((plan.processes[0].argv == expected));
    BOOST_TEST(parse_json(variable(plan, "TF_CONFIG")) ==
               parse_json(R"({"cluster": {"worker": ["n0:29400", "n1:29400"]},
                               "task": {"type": "worker", "index": 1}})"));
    BOOST_TEST(variable(plan, "RANK") == "1");
    BOOST_TEST(variable(plan, "WORLD_SIZE") == "2");
    BOOST_TEST(must(plan_tensorflow({"x"}, context())).port.value() == 31000);
    check_usage(plan_tensorflow({"--port", "0", "x"}, context()), "--port takes a port");
    check_usage(plan_tensorflow({"--trial", "m:T"}, context()), "unknown option '--trial'");
    check_usage(plan_tensorflow({"--"}, context()), "a command is missing");
}

BOOST_AUTO_TEST_CASE(jax_finds_its_processes_by_its_own_variables_and_those_of_slurm) {
    auto const plan = must(plan_jax({"python3", "train.py"}, context(1)));
    BOOST_REQUIRE(plan.processes.size() == 4u);
    BOOST_TEST(join(plan.processes[2].argv, " ") ==
               "/opt/det-wrap-rank RANK /opt/det-launch worker env JAX_COORDINATOR_ADDRESS=n0:31000 "
               "JAX_NUM_PROCESSES=8 JAX_PROCESS_ID=6 JAX_LOCAL_DEVICE_IDS=2 SLURM_NTASKS=8 "
               "SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=6 SLURM_LOCALID=2 python3 train.py");
    BOOST_TEST(plan.processes[2].environment.find("RANK").value() == "6");
    BOOST_TEST(plan.processes[2].environment.find("LOCAL_RANK").value() == "2");
    BOOST_TEST(!plan.port.has_value());
    BOOST_TEST(must(plan_jax({"x"}, context())).port.value() == 31000);
    auto one = single_node_topology();
    auto const alone = join(must(plan_jax({"x"}, one)).processes.at(0).argv, " ");
    BOOST_TEST(alone.find("JAX_COORDINATOR_ADDRESS=localhost:") != std::string::npos, alone);
}

BOOST_AUTO_TEST_CASE(jax_processes_share_the_slots_of_a_node) {
    auto const plan = must(plan_jax({"--processes-per-node", "2", "--", "x"}, context(1)));
    BOOST_REQUIRE(plan.processes.size() == 2u);
    auto const second = join(plan.processes[1].argv, " ");
    BOOST_TEST(second.find(" JAX_LOCAL_DEVICE_IDS=2,3 ") != std::string::npos, second);
    BOOST_TEST(second.find(" JAX_PROCESS_ID=3 ") != std::string::npos, second);
    BOOST_TEST(plan.processes[1].environment.find("WORLD_SIZE").value() == "4");
    auto uneven = context(1);
    uneven.rendezvous.slot_counts = "4,3";
    BOOST_TEST(must(plan_jax({"x"}, uneven)).processes.size() == 3u);
    check_usage(plan_jax({"--processes-per-node", "2", "x"}, uneven),
                "the 3 slots of n1 can't be divided among 2 processes");
    auto mig = context(1);
    mig.environment.set("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b,MIG-c,MIG-d");
    auto const third = join(must(plan_jax({"x"}, mig)).processes.at(2).argv, " ");
    BOOST_TEST(third.find(" JAX_LOCAL_DEVICE_IDS=0 ") != std::string::npos, third);
    check_usage(plan_jax({"--processes-per-node", "2", "x"}, mig), "several MIG instances");
    check_usage(plan_jax({"--processes-per-node", "0", "x"}, context()), "a number above 0");
    check_usage(plan_jax({"--trial", "m:T"}, context()), "unknown option '--trial'");
    check_usage(plan_jax({"--processes-per-node", "2"}, context()), "a command is missing");
}

BOOST_AUTO_TEST_CASE(a_command_launches_a_trial_class_if_a_launcher_gets_one) {
    auto const launches = [](Arguments const& command) { return launches_trial_class(command); };
    BOOST_TEST(launches({"dlprof", "python3", "-m", "determined.launch.autohorovod", "--trial", "m:T"}));
    BOOST_TEST(launches({"python3", "-m", "determined.launch.autohorovod", "m:T"}));
    BOOST_TEST(launches({"det-launch", "horovod", "--cycle-time-ms", "2", "--", "--trial=m:T"}));
    BOOST_TEST(launches({"python3", "-m", "determined.launch.horovod", "--autohorovod", "--trial", "m:T"}));
    BOOST_TEST(!launches({"det-launch", "horovod", "--autohorovod", "a.py", "--trial", "m:T"}));
    BOOST_TEST(!launches({"python3", "train.py", "--trial", "m:T"}));
    BOOST_TEST(!launches({"det-launch", "python3", "train.py", "--trial", "m:T"}));
    BOOST_TEST(
        !launches({"python3", "-m", "determined.launch.horovod", "-v", "--", "a.py", "--trial", "m:T"}));
    BOOST_TEST(!launches({"det-launch"}));
    BOOST_TEST(!launches({}));
}

BOOST_AUTO_TEST_CASE(it_is_known_how_an_entrypoint_starts_a_trial_class) {
    auto const start = [](Arguments const& entrypoint) { return find_trial_class_launch(entrypoint); };
    using Start = TrialClassLaunch;
    BOOST_TEST((start({"model_def:MyTrial"}) == Start::by_name));
    BOOST_TEST((start({"python3 -m determined.launch.horovod --trial m:T"}) == Start::by_launcher));
    BOOST_TEST((start({"sh", "-c", "python3 -m determined.exec.harness m:T"}) == Start::by_launcher));
    BOOST_TEST((start({"python3 -m determined.launch.deepspeed --trial m:T"}) == Start::by_deepspeed));
    BOOST_TEST((start({"det-launch", "deepspeed", "--trial=m:T"}) == Start::by_deepspeed));
    BOOST_TEST((start({"python3 deepspeed.py --trial m:T"}) == Start::none));
    BOOST_TEST((start({"python3", "m:T"}) == Start::none));
    BOOST_TEST((start({}) == Start::none));
}

BOOST_AUTO_TEST_CASE(trial_classes_are_distinguished_from_commands) {
    for (auto const* text : {"model_def:MyTrial", "a.b_c:T1"}) BOOST_TEST(is_trial_class(text));
    for (auto const* text : {"python3 x.py", "m:A.B", "m:", ":T", "m: T", "a/b:T", "sh -c a:b", ""}) {
        BOOST_TEST(!is_trial_class(text), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
