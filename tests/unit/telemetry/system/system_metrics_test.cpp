// System metrics of a node with faked /proc, /sys and NVML.
#include <det/foundation/files.hpp>
#include <det/telemetry/system/sampler.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fstream>
#include <map>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::telemetry;
using namespace std::chrono_literals;

namespace {

class FakeNode {
public:
    FakeNode() {
        for (auto const* name : {"proc/net", "sys/block/sda", "sys/block/nvme0n1", "sys/block/dm-0"})
            std::filesystem::create_directories(root_ / name);
    }
    std::filesystem::path const& root() const { return root_.path(); }

    /// Counters as they are after `seconds` of the same load.
    void set(unsigned seconds) {
        write("stat", fmt::format("cpu  {} 0 {} {} 0 0 0 0 0 0\ncpu0 1 2 3 4\nintr 5\n", 1000 + 30 * seconds,
                                  500 + 20 * seconds, 9000 + 150 * seconds));
        write("meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    1953125 kB\n");
        write("diskstats", fmt::format("   8       0 sda {} 0 {} 9 {} 0 {} 0 0 0 0\n"
                                       "   8       1 sda1 7 0 7 9 7 0 7 0 0 0 0\n"
                                       " 253       0 dm-0 7 0 7 9 7 0 7 0 0 0 0\n"
                                       " 259       0 nvme0n1 {} 0 0 0 0 0 0 0 0 0 0\n",
                                       10 * seconds, 2 * seconds, 5 * seconds, 4 * seconds, seconds));
        write("net/dev",
              fmt::format("Inter-|   Receive    |  Transmit\n"
                          " face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n"
                          "    lo: {0} 1 0 0 0 0 0 0 {0} 1 0 0 0 0 0 0\n"
                          "  eth0:{1} 1 0 0 0 0 0 0 {2} 1 0 0 0 0 0 0\n"
                          "   ib0: {1} 1 0 0 0 0 0 0 {2} 1 0 0 0 0 0 0\n",
                          99 * seconds, 1000 * seconds, 300 * seconds));
    }
    void write(std::string const& name, std::string const& text) {
        std::ofstream(root_ / ("proc/" + name)) << text;
    }

private:
    TemporaryDirectory root_;
};

std::map<std::string, double> flat(std::vector<SystemReport> const& reports) {
    std::map<std::string, double> values;
    for (auto const& report : reports) {
        for (std::size_t i = 0; i < report.names.size(); ++i)
            values[report.group + "/" + report.names[i]] = report.values[i];
    }
    return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(system_metrics)

BOOST_AUTO_TEST_CASE(rates_are_averaged_over_the_samples) {
    FakeNode node;
    SystemSampler sampler(node.root(), nullptr);
    SystemSampler::TimePoint const start{};
    for (unsigned second = 0; second <= 10; ++second) {
        node.set(second);
        sampler.add_sample(start + std::chrono::seconds(second));
    }
    std::map<std::string, double> const expected{{"cpu/cpu_util_simple", 25},
                                                 {"memory/memory_free", 2},
                                                 {"disk/disk_iops", 16},
                                                 {"disk/disk_throughput_read", 2 * 512},
                                                 {"disk/disk_throughput_write", 4 * 512},
                                                 {"network/net_throughput_sent", 600},
                                                 {"network/net_throughput_recv", 2000}};
    auto const averages = flat(sampler.take_averages());
    BOOST_TEST(averages.size() == expected.size());
    for (auto const& [name, value] : expected)
        BOOST_TEST(averages.at(name) == value, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(sampler.take_averages().empty());
}

BOOST_AUTO_TEST_CASE(a_counter_that_starts_again_is_no_rate) {
    FakeNode node;
    SystemSampler sampler(node.root(), nullptr);
    node.set(5);
    sampler.add_sample({});
    node.set(1);
    sampler.add_sample(SystemSampler::TimePoint(1s));
    auto const averages = flat(sampler.take_averages());
    BOOST_TEST(averages.at("network/net_throughput_sent") == 0);
    BOOST_TEST(!averages.contains("cpu/cpu_util_simple"));
}

BOOST_AUTO_TEST_CASE(what_a_node_does_not_show_is_left_out) {
    TemporaryDirectory const empty;
    SystemSampler sampler(empty.path(), nullptr);
    sampler.add_sample({});
    sampler.add_sample(SystemSampler::TimePoint(1s));
    BOOST_TEST(sampler.take_averages().empty());
}

BOOST_AUTO_TEST_CASE(this_machine_has_metrics) {
    SystemSampler sampler("/", nullptr);
    auto const now = std::chrono::steady_clock::now();
    sampler.add_sample(now);
    sampler.add_sample(now + 1s);
    auto const averages = flat(sampler.take_averages());
    BOOST_TEST(averages.at("memory/memory_free") > 0);
    BOOST_TEST(averages.contains("network/net_throughput_recv"));
}

BOOST_AUTO_TEST_CASE(text_of_another_form_is_ignored) {
    BOOST_TEST(!parse_cpu_times(""));
    BOOST_TEST(!parse_cpu_times("cpu  1 2\n"));
    BOOST_TEST(!parse_available_memory("MemAvailable:\n"));
    auto const all = [](std::string_view) { return true; };
    BOOST_TEST(parse_disks("x\n8 0 sda a b c d e f g\n8 0 sda 1", all).operations == 0U);
    BOOST_TEST(parse_network(": :\neth0: \neth1: -5 1").received_bytes == 0U);
    BOOST_TEST(is_virtual_disk("loop0"));
    BOOST_TEST(!is_virtual_disk("nvme0n1"));
}

BOOST_AUTO_TEST_CASE(gpus_of_this_job_are_read) {
    TemporaryDirectory const empty;
    SystemSampler sampler(empty.path(), open_nvml(test::built_path("tests/fake_libnvml.so")));
    sampler.add_sample({});
    auto const reports = sampler.take_averages();
    BOOST_REQUIRE(reports.size() == 1U);
    BOOST_TEST(reports[0].group == "gpu");
    std::map<std::string, double> const expected{{"gpu/gpu_util GPU-0", 50},
                                                 {"gpu/gpu_free_memory GPU-0", 400},
                                                 {"gpu/gpu_util GPU-2", 52},
                                                 {"gpu/gpu_free_memory GPU-2", 402}};
    BOOST_TEST((flat(reports) == expected));
}

BOOST_AUTO_TEST_CASE(amds_gpus_are_read_from_the_files_of_their_driver) {
    TemporaryDirectory const root;
    // As on a node with two MI250X, of which a cgroup hides one, and the console's graphics of another
    // vendor.
    struct Device {
        std::string name, vendor, id, busy, used;
        bool is_ours;
    };
    for (auto const& device : {Device{"renderD128", "0x1a03", "", "", "", true},
                               Device{"renderD129", "0x1002", "8e2d50b44d6ff6a8", "73", "1073741824", true},
                               Device{"renderD130", "0x1002", "0x5c88007f4af0aa11", "5", "0", false},
                               Device{"renderD131", "0x1002", "", "99", "68702699520", true}}) {
        auto const files = root.path() / "sys/class/drm" / device.name / "device";
        must(make_directories(files));
        must(write_file(files / "vendor", device.vendor + "\n"));
        must(write_file(files / "gpu_busy_percent", device.busy + "\n"));
        must(write_file(files / "mem_info_vram_total", "68702699520\n"));
        must(write_file(files / "mem_info_vram_used", device.used + "\n"));
        if (!device.id.empty()) must(write_file(files / "unique_id", device.id + "\n"));
        must(make_directories(root.path() / "dev/dri"));
        if (device.is_ours) must(write_file(root.path() / "dev/dri" / device.name, ""));
    }
    must(make_directories(root.path() / "sys/class/drm/card0"));
    auto const gpus = open_amdgpu(root.path());
    BOOST_REQUIRE(gpus);
    auto const readings = gpus->read();
    BOOST_REQUIRE(readings.size() == 2U);
    BOOST_TEST(readings[0].uuid == "GPU-8e2d50b44d6ff6a8");
    BOOST_TEST(readings[0].utilisation_percent == 73);
    BOOST_TEST(readings[0].free_memory_bytes == 68702699520U - 1073741824U);
    BOOST_TEST(readings[1].uuid == "device");  // in sysfs it is a link to the PCI address
    BOOST_TEST(readings[1].free_memory_bytes == 0U);
    BOOST_TEST(!open_amdgpu(root.path() / "sys"));
}

BOOST_AUTO_TEST_CASE(without_the_library_there_are_no_gpus) {
    BOOST_TEST(!open_nvml("libdoes-not-exist.so"));
    BOOST_TEST(!open_nvml("libm.so.6"));
}

BOOST_AUTO_TEST_SUITE_END()
