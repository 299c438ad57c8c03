#include <det/foundation/files.hpp>
#include <det/launch/node/network.hpp>
#include <det/launch/node/network_variables.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>

#include <boost/test/unit_test.hpp>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <tuple>

#include "check_result.hpp"
#include "determined_link.hpp"
#include "gpus.hpp"
#include "host_names.hpp"
#include "info_files.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::node;

namespace run_directory_test {

namespace fs = std::filesystem;

struct Fixture {
    TemporaryDirectory directory;

    /// The second of three tasks, on a host name that resolves everywhere.
    Environment script() const {
        return Environment({{"DET_SPANK", "auto"},
                            {"DET_LOCAL_DIR", directory.path()},
                            {"SLURM_JOB_ID", "123"},
                            {"SLURM_STEP_ID", "4"},
                            {"SLURM_PROCID", "1"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "3"},
                            {"SLURM_STEP_NUM_NODES", "2"},
                            {"SLURM_STEP_NODELIST", "n0,localhost"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                            {"SLURMD_NODENAME", "n0"}});
    }
    static TaskIdentity task_of(Environment const& environment) {
        return must(identify_task([&](std::string_view name) { return environment.find(name); }));
    }
};

std::vector<InterfaceAddress> const two_fabrics{{"lo", "127.0.0.1"},  {"eth0", "10.0.0.5"},
                                                {"eth0", "fd00::5"},  {"hsn0", "fd01::5"},
                                                {"hsn1", "10.2.0.5"}, {"hsn1", "fd02::5"}};

}  // namespace run_directory_test

BOOST_FIXTURE_TEST_SUITE(run_directory_test, Fixture)

BOOST_AUTO_TEST_CASE(a_task_of_a_script_gets_cluster_info_and_the_environment_of_a_run) {
    auto environment = script();
    auto const place =
        must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
    BOOST_TEST(environment.find("DET_RUN_DIR").value() == place.path().string());
    BOOST_TEST(place.path().filename() == "123.4-0");
    BOOST_TEST(environment.find("RANK").value() == "1");
    BOOST_TEST(environment.find("DET_SLOT_IDS").value() == "[0, 1]");
    BOOST_TEST(environment.find("DET_UNIQUE_PORT_OFFSET").value() == "0");
    BOOST_TEST(environment.find("DET_AGENT_ID").value() == "n0");

    auto const info = place.path() / "info";
    auto const rendezvous = must(parse_rendezvous_info(must(read_file(info / "rendezvous.json"))));
    BOOST_TEST(rendezvous.hosts == "n0,localhost");
    BOOST_TEST(rendezvous.slot_counts == "2,1");
    BOOST_TEST(rendezvous.container_rank == 0);
    auto const cluster = must(parse_cluster_info(must(read_file(info / "cluster.json"))));
    BOOST_TEST(cluster.allocation_id == "123.4");
    BOOST_TEST(cluster.task_type == "COMMAND");
    BOOST_TEST(must(parse_resources_info(must(read_file(info / "resources.json")))).gpu_uuids.empty());
    BOOST_TEST(!path_exists(info / "trial.json"));
    BOOST_TEST(!must(preemption::NoticePage::open(place.path() / "preempt")).is_raised());
}

BOOST_AUTO_TEST_CASE(a_squatted_name_is_avoided_without_the_plugin_too) {
    must(write_file(directory / ("det-" + std::to_string(::getuid())), "no directory"));
    auto const enter = [&](std::string const& home) {
        auto environment = script();
        environment.set("HOME", home);
        auto place = enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper");
        return place ? Result(place->path().string()) : Result<std::string>(place.error());
    };
    BOOST_TEST((must_fail(enter("")).code == codes::unsafe_owner));
    auto const home = (directory / "home").string();
    auto const path = must(enter(home));
    BOOST_TEST(must(enter(home)) == path);  // as another task of the same step
    BOOST_TEST(must(enter(home + "-of-another")) != path);
    BOOST_TEST(path.find("det-" + std::to_string(::getuid()) + "-") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(staged_files_that_another_user_could_have_put_there_are_not_used) {
    auto environment = script();
    auto const files = must(make_stage_directory(environment)) / "jobs/123_0";
    auto const own = directory / ("det-" + std::to_string(::getuid()));
    must(make_directories(files));
    // A directory of another user has such a mode, because this user could not read it otherwise.
    BOOST_REQUIRE(::chmod(own.c_str(), 0755) == 0);
    environment.set("DET_STAGE", "123_0");
    BOOST_TEST(!find_job_stage(environment, "123_0"));
    use_stage(environment);
    BOOST_TEST(!environment.find("DET_STAGE"));
    BOOST_REQUIRE(::chmod(own.c_str(), 0700) == 0);
    environment.set("DET_STAGE", "123_0");
    use_stage(environment);
    BOOST_TEST(environment.find("DET_STAGE").value_or("") == files.string());
}

BOOST_AUTO_TEST_CASE(staged_files_have_another_place_where_another_user_has_the_name) {
    auto const own = (directory / ("det-" + std::to_string(::getuid()))).string();
    must(write_file(own, "no directory"));
    auto environment = script();
    environment.set("HOME", "");
    BOOST_TEST((must_fail(make_stage_directory(environment)).code == codes::unsafe_owner));
    BOOST_TEST(!find_job_stage(environment, "123_0"));
    environment.set("HOME", (directory / "home").string());
    BOOST_TEST(!find_job_stage(environment, "123_0"));
    BOOST_TEST(!path_exists(directory / "home"));  // looking for the directory makes no suffix
    auto const stage = must(make_stage_directory(environment));
    BOOST_TEST(stage.string().starts_with(own + "-"), stage.string());
    must(make_directories(stage / "jobs/123_0"));
    // Another run has another suffix, and the same files.
    environment.set("DET_LOCAL_SUFFIX", "of-another-run");
    BOOST_TEST((must(make_stage_directory(environment)) == stage));
    BOOST_TEST(find_job_stage(environment, "123_0").value_or("").string() == (stage / "jobs/123_0").string());
    environment.set("DET_STAGE", "123_0");
    auto const place =
        must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
    BOOST_TEST(environment.find("DET_STAGE").value_or("") == (stage / "jobs/123_0").string());
    // Also when the name is free again, and a run has taken it.
    must(remove_tree(own));
    auto const free_again = must(make_stage_directory(environment));
    BOOST_TEST(free_again.parent_path().string() == own);
    BOOST_TEST(find_job_stage(environment, "123_0").value_or("").string() == (stage / "jobs/123_0").string());
    // The suffix of one node says nothing about that of another.
    must(remove_tree(own));
    must(write_file(own, "no directory"));
    environment.set("SLURMD_NODENAME", "n7");
    BOOST_TEST(must(make_stage_directory(environment)).parent_path().string() !=
               stage.parent_path().string());
    BOOST_TEST(::chmod(stage.parent_path().c_str(), 0755) == 0);
    environment.set("SLURMD_NODENAME", "n0");
    BOOST_TEST(!find_job_stage(environment, "123_0"));
}

BOOST_AUTO_TEST_CASE(ranks_learn_the_node_of_rank_0_from_rank_0) {
    // Slurm lists n0 first, and rank 0 is on localhost.
    auto const task = [&](char const* rank, char const* local_rank, char const* node, char const* host) {
        auto environment = script();
        for (auto const& [name, value] :
             std::initializer_list<std::pair<char const*, std::string>>{{"DET_RUN_KEY", "7.0.0"},
                                                                        {"DET_RUN_JOB", "123"},
                                                                        {"DET_RUN_HOSTS", "n0,localhost"},
                                                                        {"DET_RUN_PATH", directory.path()},
                                                                        {"DET_LAUNCH", "rank"},
                                                                        {"DET_CHIEF_IP", "n0"},
                                                                        {"MASTER_ADDR", "n0"},
                                                                        {"SLURM_PROCID", rank},
                                                                        {"SLURM_LOCALID", local_rank},
                                                                        {"SLURM_NODEID", node},
                                                                        {"SLURMD_NODENAME", host},
                                                                        {"DET_SILENCE_S", "20"}})
            environment.set(name, value);
        return environment;
    };
    auto on_first_node = task("1", "0", "0", "n0");
    std::jthread waiting([&] {
        (void)must(enter_run_directory(on_first_node, task_of(on_first_node), Launch::rank, "/no/helper"));
    });
    // The nodes of this test share a directory: rank 0 must not find the one that the other node makes.
    auto chief = task("0", "0", "1", "localhost");
    chief.set("DET_LOCAL_DIR", directory / "other");
    must(make_directories(directory / "other"));
    (void)must(enter_run_directory(chief, task_of(chief), Launch::rank, "/no/helper"));
    waiting.join();
    for (auto const* environment : {&chief, &on_first_node}) {
        BOOST_TEST(environment->find("MASTER_ADDR").value() == "localhost");
        BOOST_TEST(environment->find("DET_CHIEF_IP").value() == "localhost");
        BOOST_TEST(environment->find("DET_RUN_HOSTS").value() == "n0,localhost");
    }
    BOOST_TEST(chief.find("CROSS_RANK").value() == "0");
    BOOST_TEST(on_first_node.find("CROSS_RANK").value() == "1");
    BOOST_TEST(RunLayout(directory.path()).node_log(0).string() ==
               on_first_node.find("DET_RANK_LOG").value());
    {}
}

BOOST_AUTO_TEST_CASE(a_rank_does_not_wait_for_ever_for_rank_0) {
    auto environment = script();
    environment.set("DET_RUN_KEY", "7.0.0");
    environment.set("DET_RUN_JOB", "123");
    environment.set("DET_RUN_HOSTS", "n0,localhost");
    environment.set("DET_RUN_PATH", directory.path());
    environment.set("DET_LAUNCH", "rank");
    environment.set("DET_SILENCE_S", "4");
    auto const error =
        must_fail(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
    BOOST_TEST(error.message == "rank 0 has not started within 4 s");
}

BOOST_AUTO_TEST_CASE(compiled_kernels_survive_the_runs_of_an_experiment) {
    auto const enter = [&](Environment environment) {
        environment.set("DET_COMPILE_CACHE", "7");
        (void)must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
        return environment;
    };
    auto const first = enter(script());
    fs::path const cache = first.find("DET_COMPILE_CACHE").value();
    BOOST_TEST(cache.filename() == "compile-cache-7");
    BOOST_TEST(first.find("TRITON_CACHE_DIR").value() == (cache / "triton").string());
    BOOST_TEST(first.find("TORCHINDUCTOR_CACHE_DIR").value() == (cache / "inductor").string());
    must(write_file(cache / "kernel", ""));
    auto const old = cache.parent_path() / "compile-cache-6",
               recent = cache.parent_path() / "compile-cache-5";
    for (auto const& [path, days] : {std::pair(old, 31), std::pair(recent, 29)}) {
        must(make_directories(path));
        auto const seconds = std::time(nullptr) - days * 24 * 3600;
        timespec const times[] = {{seconds, 0}, {seconds, 0}};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }
    // The directory of the first run is removed by now.
    auto own = script();
    own.set("TRITON_CACHE_DIR", "/mine");
    BOOST_TEST(enter(own).find("TRITON_CACHE_DIR").value() == "/mine");
    BOOST_TEST(path_exists(cache / "kernel"));
    BOOST_TEST(!path_exists(old));
    BOOST_TEST(path_exists(recent));
}

BOOST_AUTO_TEST_CASE(without_the_variable_there_is_no_cache_of_kernels) {
    auto environment = script();
    (void)must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
    BOOST_TEST(!environment.find("TRITON_CACHE_DIR").has_value());
}

BOOST_AUTO_TEST_CASE(the_last_task_removes_the_directory) {
    auto environment = script();
    fs::path path;
    {
        auto const first =
            must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
        path = first.path();
        auto again = script();
        auto const second = must(enter_run_directory(again, task_of(again), Launch::rank, "/no/helper"));
        BOOST_TEST(second.path() == path);
    }
    BOOST_TEST(!path_exists(path));
}

BOOST_AUTO_TEST_CASE(files_of_killed_tasks_are_not_reused) {
    auto environment = script();
    auto const left = directory / ("det-" + std::to_string(::getuid()) + "/123.4-0");
    must(make_directories(left));
    must(write_file(left / "ready", ""));
    must(write_file(left / "old", ""));
    auto const place =
        must(enter_run_directory(environment, task_of(environment), Launch::rank, "/no/helper"));
    BOOST_TEST(place.path() == left);
    BOOST_TEST(!path_exists(left / "old"));
    BOOST_TEST(path_exists(left / "info/cluster.json"));
}

BOOST_AUTO_TEST_CASE(configured_interfaces_come_before_the_route) {
    auto const chosen = [](std::string_view configured, std::string const& route) {
        auto const network = choose_network(two_fabrics, configured, route, "10.0.0.1");
        return network.interface + " " + network.address;
    };
    BOOST_TEST(chosen("", "10.0.0.5") == "eth0 10.0.0.5");
    BOOST_TEST(chosen("", "fd00::5") == "eth0 fd00::5");
    BOOST_TEST(chosen("hsn1,hsn0", "10.0.0.5") == "hsn1,hsn0 10.2.0.5");
    BOOST_TEST(chosen("hsn1", "fd00::5") == "hsn1 fd02::5");
    BOOST_TEST(chosen("hsn0", "10.0.0.5") == "hsn0 fd01::5");  // hsn0 has no IPv4 address
    BOOST_TEST(chosen("ib0, hsn1", "10.0.0.5") == "hsn1 10.2.0.5");
    BOOST_TEST(chosen("ib0", "10.0.0.5") == "eth0 10.0.0.5");
    BOOST_TEST(chosen("ib0", "") == " ");
}

BOOST_AUTO_TEST_CASE(the_route_to_the_chief_is_found_by_name_or_address) {
    auto const environment = Environment::of_this_process();
    for (auto const* chief : {"localhost", "127.0.0.1"}) {
        auto const network = detect_network({chief, "n1"}, 1, environment);
        BOOST_TEST(network.interface == "lo", chief);
        BOOST_TEST((network.chief_address == "127.0.0.1" || network.chief_address == "::1"));
    }
    BOOST_TEST((detect_network({"no-such-host.invalid", "n1"}, 1, environment) == NodeNetwork{}));
    BOOST_TEST((detect_network({"localhost"}, 0, environment) == NodeNetwork{}));
    BOOST_TEST(detect_network({"n0", "localhost"}, 0, environment).interface ==
               "lo");  // the chief looks for the route to a peer
}

BOOST_AUTO_TEST_CASE(names_of_nodes_get_the_suffix_of_the_fast_network) {
    auto environment = Environment::of_this_process();
    environment.set("DET_HOST_SUFFIX", "host");
    auto const network = detect_network({"local", "n1"}, 1, environment);  // "localhost"
    BOOST_TEST(network.interface == "lo");
    environment.set("DET_HOST_SUFFIX", ".invalid");
    BOOST_TEST((detect_network({"local", "n1"}, 1, environment) == NodeNetwork{}));
}

static std::string shown(Variables const& variables) {
    std::string text;
    for (auto const& [name, value] : variables) text += name + "=" + value + "\n";
    return text;
}

BOOST_AUTO_TEST_CASE(communication_libraries_get_the_interfaces_to_the_other_nodes) {
    TemporaryDirectory const recorded;
    NetworkFiles const files{recorded / "sys", recorded / "nccl.conf"};
    auto const found = [&](std::string_view interfaces, Environment const& environment = {}) {
        return shown(network_variables(interfaces, environment, files));
    };
    std::string const sockets = "NCCL_SOCKET_IFNAME==eth0\nGLOO_SOCKET_IFNAME=eth0\nTP_SOCKET_IFNAME=eth0\n";
    BOOST_TEST(found("") == "");
    BOOST_TEST(found("eth0") == sockets + "UCX_NET_DEVICES=eth0\n");
    BOOST_TEST(found("lo").find("UCX") == std::string::npos);
    // What the user or the site has set stays, also an empty value.
    Environment own;
    own.set("GLOO_SOCKET_IFNAME", "bond0");
    own.set("UCX_NET_DEVICES", "");
    BOOST_TEST(found("eth0", own) == "NCCL_SOCKET_IFNAME==eth0\nTP_SOCKET_IFNAME=eth0\n");
    must(write_file(files.nccl_conf, "NCCL_SOCKET_IFNAME=ib0\n"));
    BOOST_TEST(found("eth0", own) == "TP_SOCKET_IFNAME=eth0\n");
    must(write_file(files.nccl_conf, ""));
    // InfiniBand and RoCE: UCX chooses the adapters.
    must(make_directories(files.sysfs / "class/infiniband/mlx5_0"));
    BOOST_TEST(found("eth0") == sockets);
}

BOOST_AUTO_TEST_CASE(libfabric_gets_what_slingshot_needs) {
    TemporaryDirectory const recorded;
    NetworkFiles const files{recorded / "sys", recorded / "nccl.conf"};
    must(make_directories(files.sysfs / "class/cxi/cxi0"));
    Environment environment;
    environment.set("FI_CXI_DEFAULT_CQ_SIZE", "4096");
    BOOST_TEST(shown(network_variables("hsn0,hsn1", environment, files)) ==
               "NCCL_SOCKET_IFNAME==hsn0,hsn1\nGLOO_SOCKET_IFNAME=hsn0,hsn1\nTP_SOCKET_IFNAME=hsn0\n"
               "UCX_NET_DEVICES=hsn0,hsn1\nFI_PROVIDER=cxi\nFI_CXI_DISABLE_HOST_REGISTER=1\n"
               "FI_MR_CACHE_MONITOR=userfaultfd\n");
}

BOOST_AUTO_TEST_CASE(the_route_to_the_chief_may_be_ipv6) {
    auto const environment = Environment::of_this_process();
    auto const network = detect_network({"::1", "n1"}, 1, environment);
    if (network.address.empty()) {
        BOOST_TEST_MESSAGE("skipped: this host has no IPv6");
        return;
    }
    BOOST_TEST(network.interface == "lo");
    BOOST_TEST(network.chief_address == "::1");
}

BOOST_AUTO_TEST_CASE(host_names_are_looked_up_as_nsswitch_conf_says) {
    std::string const hosts =
        "# a comment n0\n127.0.0.1 localhost\n\n10.0.0.5\tn0 N0.cluster # n1\nfd00::5 n0\n10.0.0.6 n1";
    using Addresses = std::vector<std::string>;
    BOOST_TEST(find_in_hosts_file(hosts, "n0") == (Addresses{"10.0.0.5", "fd00::5"}),
               boost::test_tools::per_element());
    BOOST_TEST(find_in_hosts_file(hosts, "n0.CLUSTER") == (Addresses{"10.0.0.5"}),
               boost::test_tools::per_element());
    BOOST_TEST(find_in_hosts_file(hosts, "n1") == (Addresses{"10.0.0.6"}), boost::test_tools::per_element());
    BOOST_TEST(find_in_hosts_file(hosts, "10.0.0.5").empty());
    BOOST_TEST(hosts_file_comes_first("passwd: files\nhosts:  files dns\n"));
    BOOST_TEST(!hosts_file_comes_first("hosts: dns files\n"));
    BOOST_TEST(!hosts_file_comes_first(""));
    auto const environment = Environment::of_this_process();
    BOOST_TEST(look_up_host("fd00::7", environment) == (Addresses{"fd00::7"}),
               boost::test_tools::per_element());
    BOOST_TEST(!look_up_host("localhost", environment).empty());
    BOOST_TEST(look_up_host("no-such-host.invalid", environment).empty());
}

BOOST_AUTO_TEST_CASE(gpu_uuids_are_read_from_the_driver) {
    for (auto const& [bus, number] : {std::pair("0000:81:00.0", "1"), std::pair("0000:01:00.0", "0")}) {
        must(make_directories(directory / bus));
        must(write_file(directory / bus / "information",
                        std::string("Model: \t\t NVIDIA X\nIRQ:   \t\t 42\nGPU UUID: "
                                    "\t GPU-") +
                            number + "\nDevice Minor: \t " + number + "\n"));
    }
    using Uuids = std::vector<std::string>;
    BOOST_TEST(list_gpu_uuids("", directory.path()) == (Uuids{"GPU-0", "GPU-1"}),
               boost::test_tools::per_element());
    BOOST_TEST(list_gpu_uuids("1", directory.path()) == (Uuids{"GPU-1"}), boost::test_tools::per_element());
    BOOST_TEST(list_gpu_uuids("7", directory.path()) == (Uuids{"GPU-0", "GPU-1"}),
               boost::test_tools::per_element());
    BOOST_TEST(list_gpu_uuids("0", directory / "absent").empty());
}

BOOST_AUTO_TEST_CASE(the_uuids_of_amds_gpus_are_read_from_sysfs) {
    for (auto const& [name, vendor, id] :
         {std::tuple("renderD128", "0x1a03", ""), std::tuple("renderD129", "0x1002", "8e2d50b44d6ff6a8"),
          std::tuple("renderD130", "0x1002", "0x5c88007f4af0aa11")}) {
        auto const device = directory / "class/drm" / name / "device";
        must(make_directories(device));
        must(write_file(device / "vendor", std::string(vendor) + "\n"));
        must(write_file(device / "unique_id", std::string(id) + "\n"));
    }
    using Uuids = std::vector<std::string>;
    BOOST_TEST(
        list_amd_gpu_uuids("", directory.path()) == (Uuids{"GPU-8e2d50b44d6ff6a8", "GPU-5c88007f4af0aa11"}),
        boost::test_tools::per_element());
    BOOST_TEST(list_amd_gpu_uuids("1", directory.path()) == (Uuids{"GPU-5c88007f4af0aa11"}),
               boost::test_tools::per_element());
    // Where the names of GPUs in Slurm do not tell their vendor, the node does.
    must(write_file(directory / "kfd", ""));
    HardwareFiles const amd{directory.path(), directory / "absent", directory / "kfd"};
    HardwareFiles const none{directory.path(), directory / "absent", directory / "absent"};
    BOOST_TEST((find_slot_type(SlotType::cuda, amd) == SlotType::rocm));
    BOOST_TEST((find_slot_type(SlotType::cpu, amd) == SlotType::cpu));
    BOOST_TEST((find_slot_type(SlotType::cuda, none) == SlotType::cuda));
    must(make_directories(directory / "nvidia/0000:01:00.0"));
    must(write_file(directory / "nvidia/0000:01:00.0/information", "Device Minor: \t 0\n"));
    HardwareFiles const nvidia{directory.path(), directory / "nvidia", directory / "absent"};
    BOOST_TEST((find_slot_type(SlotType::rocm, nvidia) == SlotType::cuda));
}

BOOST_AUTO_TEST_CASE(gpus_of_intel_count_if_they_are_no_console) {
    auto const device = directory / "class/drm/renderD128/device";
    must(make_directories(device));
    must(write_file(device / "vendor", "0x8086\n"));
    must(write_file(device / "class", "0x038000\n"));
    HardwareFiles const intel{directory.path(), directory / "absent", directory / "absent"};
    BOOST_TEST((find_slot_type(SlotType::cuda, intel) == SlotType::xpu));
    BOOST_TEST((find_slot_type(SlotType::cpu, intel) == SlotType::cpu));
    must(write_file(device / "class", "0x030000\n"));
    BOOST_TEST((find_slot_type(SlotType::cuda, intel) == SlotType::cuda));
}

BOOST_AUTO_TEST_CASE(run_determined_links_to_the_run_if_it_is_private) {
    auto const place = directory / "determined";
    auto const run = directory / "run", other = directory / "other";
    must(make_directories(run / "info"));
    must(make_directories(other / "info"));
    auto const target = [&] {
        std::error_code none;
        return fs::read_symlink(place / "info", none);
    };
    link_determined_info(run, place);  // the directory does not exist
    BOOST_TEST(!path_exists(place));

    must(make_directory(place, 0700));
    link_determined_info(run, place);
    BOOST_TEST(target() == run / "info");
    link_determined_info(other, place);  // the first run still exists
    BOOST_TEST(target() == run / "info");
    unlink_determined_info(other, place);
    BOOST_TEST(target() == run / "info");
    must(remove_tree(run));
    link_determined_info(other, place);
    BOOST_TEST(target() == other / "info");
    unlink_determined_info(other, place);
    BOOST_TEST(target().empty());

    ::chmod(place.c_str(), 0777);
    link_determined_info(other, place);
    BOOST_TEST(target().empty());
}

BOOST_AUTO_TEST_SUITE_END()
