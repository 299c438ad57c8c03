#include <det/foundation/file_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/site/judge_preflight.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::site;

namespace judge_preflight_test {

PreflightFacts good(std::uint32_t index) {
    PreflightFacts facts;
    facts.node = fmt::format("n{}", index);
    facts.index = index;
    facts.is_directory_same = true;
    facts.program = "100-00000000";
    facts.clock_offset_us = 1'000'000;
    facts.path = "/usr/bin:/bin";
    facts.limits = {
        {"memlock_bytes", -1}, {"open_files", 4096}, {"address_space_bytes", -1}, {"processes", 100}};
    facts.interfaces = "hsn0";
    if (index == 0) facts.bytes_per_s = 125e6;
    facts.gpus_allocated = facts.gpus_visible = 1;
    facts.storage = StorageFacts{"", 50e6, std::uint64_t{10} << 30};
    return facts;
}

PreflightPool const pool{"gpu", 2, true, "apptainer", "/det/checkpoints"};
LoginFacts const login{"/det", "100-00000000", 3'000'000};

std::string judge(std::vector<PreflightFacts> const& nodes, PreflightPool const& of = pool) {
    std::string text;
    for (auto const& each : judge_preflight(of, login, nodes))
        text += fmt::format("{} {}: {}\n  {}\n  {}: {}\n",
                            each.severity == Finding::Severity::change ? "change" : "note", each.subject,
                            each.what, each.why, each.file, each.change);
    return text;
}

}  // namespace judge_preflight_test

BOOST_AUTO_TEST_SUITE(judge_preflight_test)

BOOST_AUTO_TEST_CASE(nodes_at_the_limits_are_good) { BOOST_TEST(judge({good(0), good(1)}) == ""); }

BOOST_AUTO_TEST_CASE(everything_that_is_wrong_is_said_with_what_to_do) {
    auto bad = good(0);
    bad.is_directory_same = false;
    bad.program = "";
    bad.missing_programs = {"srun"};
    bad.clock_offset_us = 5'000'001;
    bad.limits = {{"memlock_bytes", 65'536}, {"open_files", 4095}, {"address_space_bytes", 1 << 30}};
    bad.unresolved = {"n1", "n2"};
    bad.interfaces = "";
    bad.bytes_per_s = std::nullopt;
    bad.gpus_visible = 0;
    bad.runtime_error = "apptainer: not found";
    bad.storage = StorageFacts{"cannot create it: Permission denied", 0, 0};
    auto slow = good(0);
    slow.bytes_per_s = 124e6;
    slow.storage = StorageFacts{"", 49e6, (std::uint64_t{10} << 30) - 1};
    check_golden("site/preflight.txt", judge({bad}) + "----\n" + judge({slow}));
}

BOOST_AUTO_TEST_CASE(cores_on_another_numa_node_than_the_gpu_of_their_rank_are_named) {
    auto node = good(0);
    node.gpu_numa_nodes = {0, 0, 1, 1};
    node.core_numa_nodes = {0, 0, 1, 1};
    BOOST_TEST(judge({node}) == "");
    node.core_numa_nodes = {0, -1, 1, 1};  // cores of both nodes
    BOOST_TEST(judge({node}) == "");
    node.gpu_numa_nodes = {-1, 0, -1, 1};  // not known
    BOOST_TEST(judge({node}) == "");
    node.gpu_numa_nodes = {0, 0, 3, 0};
    BOOST_TEST(judge({node}) ==
               "note pool 'gpu', node 'n0': the cores of rank 2 are on NUMA node 1, its GPU is on node 3\n"
               "  with an equal share of the cores for each rank, copies to GPUs cross the nodes\n"
               "  site.yaml: task_defaults: {slurm: {bind: auto}}\n");
}

BOOST_AUTO_TEST_CASE(one_node_and_a_pool_without_gpus_are_not_asked_for_more) {
    auto alone = good(0);
    alone.bytes_per_s = std::nullopt;
    alone.interfaces = "";
    alone.gpus_visible = alone.gpus_allocated = 0;
    alone.storage = std::nullopt;
    BOOST_TEST(judge({alone}, {"cpu", 1, false, "", ""}) == "");
}

BOOST_AUTO_TEST_CASE(the_facts_of_a_node_are_one_line_of_json) {
    auto const facts = good(0);
    auto const text = render_preflight_facts(facts);
    BOOST_TEST(text.find('\n') == text.size() - 1);
    auto const parsed = must(parse_preflight_facts(text));
    BOOST_TEST(render_preflight_facts(parsed) == text);
    BOOST_TEST(judge({parsed, good(1)}) == "");
    for (auto const* wrong : {"", "{}", "[1]", R"({"preflight": 1})", R"({"preflight": 1, "node": 7})"})
        BOOST_TEST((must_fail(parse_preflight_facts(wrong)).code == codes::damaged), wrong);
}

BOOST_AUTO_TEST_CASE(clocks_are_compared_with_the_file_system_and_programs_by_their_contents) {
    TemporaryDirectory const directory;
    auto const offset_us = must(measure_clock_offset_us(directory.path()));
    BOOST_TEST(std::abs(offset_us) < 10'000'000);
    BOOST_TEST(must(list_directory(directory.path())).empty());
    must(write_file(directory / "a", "text"));
    must(write_file(directory / "b", "text"));
    must(write_file(directory / "c", "taxt"));
    auto const id = [&](char const* name) { return file_fingerprint(directory / name); };
    BOOST_TEST(id("a") == id("b"));
    BOOST_TEST(id("a") != id("c"));
    BOOST_TEST(id("absent") == "");
}

BOOST_AUTO_TEST_SUITE_END()
