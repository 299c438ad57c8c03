// Compares our parser of host lists with Slurm's, on random lists.
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <random>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;

namespace host_names {

constexpr int rounds = 20;
constexpr int lists_per_round = 250;  // limited by the length of a command line

struct OneNode : LoopbackCluster {
    OneNode() : LoopbackCluster({1, 0}) {}

    /// The names into which Slurm expands the list.
    std::vector<std::string> expand_by_slurm(std::string const& list) const {
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

/// Examples: "gpu7", "a[1-3,007]", "rack[1-2]node[08-11]"
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

}  // namespace host_names

BOOST_FIXTURE_TEST_SUITE(host_names, OneNode)

BOOST_AUTO_TEST_CASE(random_lists_expand_as_in_slurm_and_slurm_reads_our_compressed_form) {
    std::mt19937 random(20261121);
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::string> pieces;
        for (int i = 0; i < lists_per_round; ++i) pieces.push_back(random_piece(random));
        auto const list = join(pieces, ",");
        auto const ours = must(expand_host_list(list));
        auto const slurms = expand_by_slurm(list);
        BOOST_REQUIRE(ours.size() == slurms.size());
        BOOST_TEST(ours == slurms, boost::test_tools::per_element());
        BOOST_TEST(must(first_host(list)) == slurms.front());
        BOOST_TEST(expand_by_slurm(compress_host_list(ours)) == slurms, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
