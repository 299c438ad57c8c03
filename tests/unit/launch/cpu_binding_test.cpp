#include <det/foundation/files.hpp>
#include <det/launch/node/cpu_binding.hpp>
#include <det/launch/node/node_topology.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::node;

namespace cpu_binding_test {

/// `count` cores of one thread each on every NUMA node, numbered node by node.
std::vector<Core> cores_of(int numa_nodes, int count) {
    std::vector<Core> cores;
    for (int i = 0; i < numa_nodes * count; ++i) cores.push_back({i / count, {i}});
    return cores;
}

/// The CPUs of all ranks: "0-1 2-3"; "-" for a rank that is not bound.
std::string bound(std::string_view policy, int ranks, std::vector<Core> const& cores,
                  std::vector<int> const& gpu_numa_nodes = {}) {
    std::string text;
    for (int rank = 0; rank < ranks; ++rank) {
        auto const cpus =
            choose_cpus(parse_bind_policy(policy).value(), {rank, ranks}, cores, gpu_numa_nodes);
        text += (rank == 0 ? "" : " ") + (cpus.empty() ? "-" : render_cpu_list(cpus));
    }
    return text;
}

/// A node of LUMI-G or Frontier: four NUMA nodes of 16 cores with two threads each. Core n has the threads n
/// and n + 64.
std::vector<Core> cores_of_lumi() {
    std::vector<Core> cores;
    for (int i = 0; i < 64; ++i) cores.push_back({i / 16, {i, i + 64}});
    return cores;
}
std::vector<int> const gpus_of_lumi{3, 3, 1, 1, 0, 0, 2, 2};  // from the manual of LUMI

void write(std::filesystem::path const& file, std::string const& text) {
    must(make_directories(file.parent_path()));
    must(write_file(file, text + "\n"));
}

/// The files of a node of two sockets with two cores of two threads each.
HardwareFiles record_two_sockets(std::filesystem::path const& directory) {
    HardwareFiles const files{directory / "sys", directory / "nvidia"};
    auto const devices = files.sysfs / "devices/system";
    write(devices / "cpu/online", "0-7");
    for (int cpu = 0; cpu < 8; ++cpu)
        write(devices / fmt::format("cpu/cpu{}/topology/thread_siblings_list", cpu),
              fmt::format("{},{}", cpu % 4, cpu % 4 + 4));
    write(devices / "node/node0/cpulist", "0-1,4-5");
    write(devices / "node/node1/cpulist", "2-3,6-7");
    write(devices / "node/online", "0-1");
    return files;
}

Environment environment_of(std::initializer_list<std::pair<char const*, char const*>> variables) {
    Environment environment;
    for (auto const& [name, value] : variables) environment.set(name, value);
    return environment;
}

}  // namespace cpu_binding_test

using namespace cpu_binding_test;

BOOST_AUTO_TEST_SUITE(cpu_binding_test)

BOOST_AUTO_TEST_CASE(a_policy_has_a_name_or_is_a_map_with_each_number_once) {
    for (auto const* text : {"auto", "none", "cores", "numa", "0", "1,0", "6,7,2,3,0,1,4,5", "1, 0"})
        BOOST_TEST(parse_bind_policy(text).has_value(), text);
    for (auto const* text :
         {"", "socket", "1", "0,0", "0,2", "-1,0", "0,", ",", "0,x", "99999999999", "Auto"})
        BOOST_TEST(!parse_bind_policy(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(ranks_share_the_cores_equally_and_in_order) {
    BOOST_TEST(bound("cores", 2, cores_of(1, 4)) == "0-1 2-3");
    BOOST_TEST(bound("cores", 3, cores_of(1, 4)) == "0 1 2-3");
    BOOST_TEST(bound("cores", 4, cores_of(1, 4)) == "0 1 2 3");
    BOOST_TEST(bound("cores", 5, cores_of(1, 4)) == "- - - - -");  // fewer cores than ranks
    BOOST_TEST(bound("cores", 2, cores_of_lumi()) == "0-31,64-95 32-63,96-127");
    BOOST_TEST(bound("none", 2, cores_of(1, 4)) == "- -");
    BOOST_TEST(bound("cores", 1, {}) == "-");
    // Cores of two sockets that Linux numbers alternately.
    BOOST_TEST(bound("cores", 2, {{0, {0}}, {1, {1}}, {0, {2}}, {1, {3}}}) == "0,2 1,3");
}

BOOST_AUTO_TEST_CASE(a_rank_has_a_share_of_the_cores_beside_its_gpu) {
    BOOST_TEST(bound("auto", 4, cores_of(2, 4), {1, 1, 0, 0}) == "4-5 6-7 0-1 2-3");
    BOOST_TEST(bound("auto", 3, cores_of(2, 4), {1, 0, 0}) == "4-7 0-1 2-3");
    // Where this is not possible for one rank, no rank takes cores that another gets as its equal share.
    BOOST_TEST(bound("auto", 2, cores_of(2, 2), {1, -1}) == "0-1 2-3");
    BOOST_TEST(bound("auto", 2, cores_of(2, 2), {1, 7}) == "0-1 2-3");
    BOOST_TEST(bound("auto", 4, cores_of(2, 2), {1, 1, 1, 0}) == "0 1 2 3");
    BOOST_TEST(bound("auto", 2, cores_of(2, 2)) == "0-1 2-3");
    BOOST_TEST(bound("auto", 2, cores_of(2, 2), {1}) == "0-1 2-3");
}

BOOST_AUTO_TEST_CASE(a_rank_has_the_numa_node_of_its_gpu_or_of_its_share) {
    BOOST_TEST(bound("numa", 4, cores_of(2, 4), {1, 1, 0, 0}) == "4-7 4-7 0-3 0-3");
    BOOST_TEST(bound("numa", 4, cores_of(2, 4)) == "0-3 0-3 4-7 4-7");
    BOOST_TEST(bound("numa", 2, cores_of(2, 4), {-1, 0}) == "0-3 0-3");
    BOOST_TEST(bound("numa", 2, {{-1, {0}}, {-1, {1}}}) == "0-1 0-1");  // Linux shows no NUMA nodes
}

BOOST_AUTO_TEST_CASE(a_map_gives_each_rank_the_share_that_it_names) {
    BOOST_TEST(bound("1,0", 2, cores_of(1, 4)) == "2-3 0-1");
    BOOST_TEST(bound("3,2,1,0", 2, cores_of(1, 4)) == "3 2");  // a trial that uses half of the node
    BOOST_TEST(bound("1,0", 3, cores_of(1, 4)) == "2-3 0-1 -");
    BOOST_TEST(bound("1,0", 2, cores_of(1, 1)) == "- -");
}

BOOST_AUTO_TEST_CASE(the_map_of_lumi_and_auto_are_the_binding_of_its_manual) {
    // --cpu-bind=map_cpu:49,57,17,25,1,9,33,41: each of these is in the eight cores of the rank.
    std::string const wanted =
        "48-55,112-119 56-63,120-127 16-23,80-87 24-31,88-95 0-7,64-71 8-15,72-79 32-39,96-103 40-47,104-111";
    BOOST_TEST(bound("6,7,2,3,0,1,4,5", 8, cores_of_lumi()) == wanted);
    BOOST_TEST(bound("auto", 8, cores_of_lumi(), gpus_of_lumi) == wanted);
}

BOOST_AUTO_TEST_CASE(lists_of_cpus_are_read_and_written_as_linux_does) {
    BOOST_TEST((parse_cpu_list("0-2,8\n") == std::vector{0, 1, 2, 8}));
    BOOST_TEST(parse_cpu_list("").empty());
    BOOST_TEST((parse_cpu_list("x,3,1-,-1,0-99999999999") == std::vector{3}));
    BOOST_TEST(render_cpu_list({0, 1, 2, 8, 10, 11}) == "0-2,8,10-11");
    BOOST_TEST(render_cpu_list({}) == "");
}

BOOST_AUTO_TEST_CASE(cores_and_numa_nodes_come_from_sysfs) {
    TemporaryDirectory const directory;
    auto const files = record_two_sockets(directory.path());
    BOOST_TEST(bound("cores", 4, read_cores(online_cpus(files), files)) == "0,4 1,5 2,6 3,7");
    BOOST_TEST(bound("numa", 2, read_cores(online_cpus(files), files)) == "0-1,4-5 2-3,6-7");
    BOOST_TEST(bound("cores", 1, read_cores({1, 6}, files)) == "1,6");  // only CPUs of the task
    BOOST_TEST((numa_nodes_of({0, 7}, files) == std::vector{0, 1}));
    BOOST_TEST((numa_nodes_of({2, 3}, files) == std::vector{1}));
    BOOST_TEST(numa_nodes_of({2}, {directory / "absent", ""}).empty());
    BOOST_TEST(bound("cores", 2, read_cores({0, 1}, {directory / "absent", ""})) == "0 1");
}

BOOST_AUTO_TEST_CASE(gpus_of_nvidia_have_the_numa_nodes_of_their_pci_devices_by_minor_number) {
    TemporaryDirectory const directory;
    auto const files = record_two_sockets(directory.path());
    write(files.nvidia_gpus / "0000:81:00.0/information", "GPU UUID:\t GPU-1\nDevice Minor: \t 0");
    write(files.nvidia_gpus / "0000:0A:00.0/information", "GPU UUID:\t GPU-0\nDevice Minor: \t 1");
    write(files.sysfs / "bus/pci/devices/0000:81:00.0/numa_node", "1");
    write(files.sysfs / "bus/pci/devices/0000:0a:00.0/numa_node", "0");
    BOOST_TEST((read_gpu_numa_nodes(files) == std::vector{1, 0}));
    // Rank 0 has the cores of node 0 and the GPU of node 1: site try shows this.
    auto const cores = read_cores(online_cpus(files), files);
    BOOST_TEST((numa_nodes_of_equal_shares(cores, 2) == std::vector{0, 1}));
    BOOST_TEST((numa_nodes_of_equal_shares(cores, 1) == std::vector{-1}));
    BOOST_TEST(bound("auto", 2, cores, read_gpu_numa_nodes(files)) == "2-3,6-7 0-1,4-5");
}

BOOST_AUTO_TEST_CASE(gpus_of_amd_are_found_by_their_vendor) {
    TemporaryDirectory const directory;
    auto const files = record_two_sockets(directory.path());
    auto const drm = files.sysfs / "class/drm";
    write(drm / "renderD129/device/vendor", "0x1002");
    write(drm / "renderD129/device/numa_node", "0");
    write(drm / "renderD128/device/vendor", "0x1002");
    write(drm / "renderD128/device/numa_node", "1");
    write(drm / "renderD130/device/vendor", "0x1a03");  // the display of the baseboard
    write(drm / "renderD131/device/vendor", "0x1002");  // a virtual machine: no numa_node
    write(drm / "card0/device/vendor", "0x1002");
    BOOST_TEST((read_gpu_numa_nodes(files) == std::vector{1, 0, -1}));
}

BOOST_AUTO_TEST_CASE(a_rank_uses_the_gpu_that_it_sees_at_its_number) {
    std::vector const all{0, 0, 1, 1};
    auto const of_two = [&](std::initializer_list<std::pair<char const*, char const*>> variables) {
        return numa_nodes_of_ranks(all, 2, environment_of(variables));
    };
    BOOST_TEST((of_two({}) == std::vector{0, 0}));
    BOOST_TEST((of_two({{"SLURM_JOB_GPUS", "1,2"}}) == std::vector{0, 1}));
    BOOST_TEST((of_two({{"SLURM_STEP_GPUS", "2,3"}, {"SLURM_JOB_GPUS", "0,1"}}) == std::vector{1, 1}));
    // With and without Slurm's limits on devices.
    BOOST_TEST((of_two({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}) == std::vector{1, 1}));
    BOOST_TEST((of_two({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}) == std::vector{1, 1}));
    BOOST_TEST((of_two({{"ROCR_VISIBLE_DEVICES", "3,0"}}) == std::vector{1, 0}));
    // A rank without a GPU of its own, a UUID, and a number that does not exist.
    BOOST_TEST(of_two({{"SLURM_JOB_GPUS", "2"}}).empty());
    BOOST_TEST(of_two({{"CUDA_VISIBLE_DEVICES", "GPU-5ba4,GPU-77"}}).empty());
    BOOST_TEST(of_two({{"CUDA_VISIBLE_DEVICES", "0,9"}}).empty());
    BOOST_TEST(numa_nodes_of_ranks({}, 2, {}).empty());
}

BOOST_AUTO_TEST_CASE(this_process_has_cpus_and_can_be_bound_to_one_of_them) {
    auto const all = own_cpus();
    BOOST_REQUIRE(!all.empty());
    BOOST_TEST(bind_to_cpus({all.back()}));
    BOOST_TEST((own_cpus() == std::vector{all.back()}));
    BOOST_TEST(bind_to_cpus(all));
    BOOST_TEST(!bind_to_cpus({}));
    BOOST_TEST((own_cpus() == all));
}

BOOST_AUTO_TEST_SUITE_END()
