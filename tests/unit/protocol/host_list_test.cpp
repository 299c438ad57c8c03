#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <boost/test/unit_test.hpp>
#include <random>

#include "check_result.hpp"

using namespace det;

namespace host_list_test {

std::string expanded(std::string_view text) { return join(must(expand_host_list(text)), " "); }

}  // namespace host_list_test

BOOST_AUTO_TEST_SUITE(host_list_test)

BOOST_AUTO_TEST_CASE(brackets_are_expanded_in_slurms_order) {
    BOOST_TEST(expanded("") == "");
    BOOST_TEST(expanded("login1") == "login1");
    BOOST_TEST(expanded("n[0-3]") == "n0 n1 n2 n3");
    BOOST_TEST(expanded("gpu[07-10,12],login1") == "gpu07 gpu08 gpu09 gpu10 gpu12 login1");
    BOOST_TEST(expanded("r[1-2]n[1-2]") == "r1n1 r1n2 r2n1 r2n2");
    BOOST_TEST(expanded("n[8-10]") == "n8 n9 n10");
    BOOST_TEST(expanded("n[1-2]-ib,m") == "n1-ib n2-ib m");
}

BOOST_AUTO_TEST_CASE(text_that_is_no_host_list_is_refused) {
    for (auto const* text : {"n[", "n]", "n[]", "n[1-", "n[2-1]", "n[a]", "n[1,]", "a,,b", ",", "n[[1]]",
                             "n[-1]", "n[1-99999999999999999999]", "n[1-2000000]", "n[0-999][0-999][0-9]"}) {
        BOOST_TEST(!expand_host_list(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(the_first_host_is_found_without_expanding_the_rest) {
    BOOST_TEST(must(first_host("n[007-999999],x")) == "n007");
    BOOST_TEST(must(first_host("r[3,5]n[2-4]-ib,x")) == "r3n2-ib");
    BOOST_TEST(must(first_host("a,b")) == "a");
    BOOST_TEST(!first_host("").has_value());
    BOOST_TEST(!first_host("n[1").has_value());
}

BOOST_AUTO_TEST_CASE(names_are_compressed_in_their_order) {
    BOOST_TEST(compress_host_list({"n0", "n1", "n2", "n3"}) == "n[0-3]");
    BOOST_TEST(compress_host_list({"n08", "n09", "n10", "n12"}) == "n[08-10,12]");
    BOOST_TEST(compress_host_list({"n8", "n9", "n10"}) == "n[8-10]");
    BOOST_TEST(compress_host_list({"n2", "n1", "m1", "login"}) == "n[2,1],m1,login");
    BOOST_TEST(compress_host_list({}) == "");
    BOOST_TEST(compress_host_list({"n1-ib", "n2-ib"}) == "n1-ib,n2-ib");
}

BOOST_AUTO_TEST_CASE(generated_lists_survive_compressing_and_expanding) {
    std::mt19937 random(20261121);
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::string> hosts;
        auto const count = random() % 12;
        for (std::size_t i = 0; i < count; ++i) {
            auto number = std::to_string(random() % 120);
            if (random() % 2 == 0) number.insert(0, 3 - std::min<std::size_t>(number.size(), 3), '0');
            hosts.push_back((random() % 3 == 0 ? "a" : "rack1-n") + number + (random() % 5 == 0 ? "x" : ""));
        }
        BOOST_TEST(must(expand_host_list(compress_host_list(hosts))) == hosts, "round " << round);
    }
}

BOOST_AUTO_TEST_CASE(counts_per_node_are_read_and_written_as_slurm_does) {
    BOOST_TEST(must(expand_counts("4(x2),3")) == (std::vector<int>{4, 4, 3}));
    BOOST_TEST(compress_counts({4, 4, 3}) == "4(x2),3");
    for (auto const* text : {"", "x", "4(x", "4(x2", "-1", "1(x99999999999)", "4(x-1)"}) {
        BOOST_TEST(!expand_counts(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(a_suffix_goes_to_the_first_part_of_a_host_name) {
    BOOST_TEST(add_host_suffix("jwb0001", "i") == "jwb0001i");
    BOOST_TEST(add_host_suffix("jwb0001.juwels", "i") == "jwb0001i.juwels");
    BOOST_TEST(add_host_suffix("n1", "-ib") == "n1-ib");
    BOOST_TEST(add_host_suffix("n1", "") == "n1");
    for (auto const* address : {"10.0.0.1", "fd00::1", "localhost", ""})
        BOOST_TEST(add_host_suffix(address, "i") == address);
}

BOOST_AUTO_TEST_SUITE_END()
