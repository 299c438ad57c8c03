// Our reading of host lists against Slurm's own, on lists that nobody thought of.
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <random>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;

namespace {

constexpr int rounds = 20;
constexpr int lists_per_round = 250;  // as many as one command line has room for

struct OneNode : LoopbackCluster {
    OneNode() : LoopbackCluster({1, 0}) {}

    /// As Slurm spells it out.
    std::vector<std::string> names_behind(std::string const& list) const {
        auto const output = login("researcher", {"scontrol", "show", "hostnames", list});
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
        std::vector<std::string> names;
        for (auto const line : split_lines(output.out)) names.emplace_back(line);
        return names;
    }
};

std::string number(std::mt19937& random, unsigned limit, std::size_t width) {
    return fmt::format("{:0{}}", random() % limit, width);
}

std::string random_bracket(std::mt19937& random) {
    std::size_t const width = random() % 3 == 0 ? 3 : 1;
    std::string text = "[";
    for (auto pieces = random() % 3 + 1; pieces > 0; --pieces) {
        auto const first = random() % 110;
        text += fmt::format("{}{:0{}}", text == "[" ? "" : ",", first, width);
        if (random() % 2 == 0) text += fmt::format("-{:0{}}", first + random() % 12, width);
    }
    return text + "]";
}

/// "gpu7", "a[1-3,007]", "rack[1-2]node[08-11]"
std::string random_piece(std::mt19937& random) {
    static char const* const stems[] = {"n", "gpu", "a-b", "x1y", "node.dom"};
    std::string text = stems[random() % std::size(stems)];
    switch (random() % 4) {
        case 0:
            return text + number(random, 200, random() % 2 == 0 ? 4 : 1);
        case 1:
            return text + random_bracket(random);
        case 2:
            return text + random_bracket(random) + "m" + random_bracket(random);
        default:
            return text;
    }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_names, OneNode)

BOOST_AUTO_TEST_CASE(thousands_of_lists_are_read_as_slurm_reads_them_and_written_so_that_it_can) {
    std::mt19937 random(20261121);
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::string> pieces;
        for (int i = 0; i < lists_per_round; ++i) pieces.push_back(random_piece(random));
        auto const list = join(pieces, ",");
        auto const ours = must(expand_host_list(list));
        auto const slurms = names_behind(list);
        BOOST_REQUIRE(ours.size() == slurms.size());
        BOOST_TEST(ours == slurms, boost::test_tools::per_element());
        BOOST_TEST(must(first_host(list)) == slurms.front());
        BOOST_TEST(names_behind(compress_host_list(ours)) == slurms, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
