#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

namespace rank_end_test {

RankFailure end_of(std::optional<std::uint32_t> rank, std::int64_t at_us) {
    return {{at_us}, rank, "n2", 1, 0, "Traceback\nValueError: x\n"};
}

}  // namespace rank_end_test

BOOST_AUTO_TEST_SUITE(rank_end_test)

BOOST_AUTO_TEST_CASE(an_end_is_one_line_whatever_the_last_output_is) {
    auto end = end_of(3, 42);
    end.last_output = "a\nb\"\x1b[0m\n";
    auto const line = render_rank_failure(end);
    BOOST_TEST(line.find('\n') == line.size() - 1);
    BOOST_TEST((parse_rank_failures(line) == std::vector{end}));
    BOOST_TEST((parse_rank_failures(render_rank_failure(end_of(std::nullopt, 7))) ==
                std::vector{end_of(std::nullopt, 7)}));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_replaced) {
    auto end = end_of(3, 42);
    end.last_output = "\xff!";
    BOOST_TEST(parse_rank_failures(render_rank_failure(end)).at(0).last_output == "\xef\xbf\xbd!");
}

BOOST_AUTO_TEST_CASE(lines_that_cannot_be_parsed_are_left_out) {
    auto const good = render_rank_failure(end_of(1, 1));
    auto newer = good;
    newer.replace(newer.find("\"rank_end\":1"), 12, "\"rank_end\":2");
    auto no_time = good;
    no_time.replace(no_time.find("1970"), 4, "197x");
    auto const text = "nonsense\n[]\n{}\n\n" + newer + no_time + good + good.substr(0, good.size() / 2);
    BOOST_TEST(parse_rank_failures(text).size() == 1u);
    BOOST_TEST(parse_rank_failures("").empty());
}

BOOST_AUTO_TEST_CASE(the_earliest_rank_failed_first) {
    std::vector<RankFailure> const ends{end_of(std::nullopt, 1), end_of(7, 30), end_of(2, 20), end_of(1, 20)};
    BOOST_TEST(first_to_fail(ends).value().rank.value() == 1u);
    BOOST_TEST(!first_to_fail(std::vector{end_of(std::nullopt, 1)}).value().rank.has_value());
    BOOST_TEST(!first_to_fail({}).has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_that_was_killed_for_lack_of_memory_says_so) {
    auto end = end_of(1, 20);
    end.exit_code = 137;
    end.signal = 9;
    BOOST_TEST(!describe(end).ends_with("out of memory"));
    end.was_out_of_memory = true;
    BOOST_TEST((parse_rank_failures(render_rank_failure(end)) == std::vector{end}));
    BOOST_TEST(describe(end).ends_with("killed by signal 9 (KILL), out of memory"), describe(end));
}

BOOST_AUTO_TEST_CASE(a_node_without_its_slurmstepd_precedes_the_ends_of_ranks) {
    auto gone = end_of(std::nullopt, 40);
    gone.exit_code = 137;
    gone.signal = 9;
    gone.is_slurmstepd_gone = true;
    BOOST_TEST((parse_rank_failures(render_rank_failure(gone)) == std::vector{gone}));
    BOOST_TEST(
        describe(first_to_fail(std::vector{end_of(2, 20), gone}).value()) ==
        "the entrypoint on n2 failed first: killed by signal 9 (KILL), because the slurmstepd of its step "
        "was gone");
}

BOOST_AUTO_TEST_CASE(a_rank_that_lost_another_did_not_fail_first_whatever_the_times_are) {
    for (std::int64_t const at_us : {10, 30}) {
        auto lost = end_of(0, at_us);
        lost.lost_peer = "rank 2 on n1 was lost: its process has ended";
        BOOST_TEST((parse_rank_failures(render_rank_failure(lost)) == std::vector{lost}));
        for (auto const& ends : {std::vector{lost, end_of(2, 20)}, std::vector{end_of(2, 20), lost}})
            BOOST_TEST(first_to_fail(ends).value().rank.value() == 2u);
        BOOST_TEST(first_to_fail(std::vector{lost, end_of(std::nullopt, 20)}).value().rank.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_failed_setup_line_precedes_the_ends_of_ranks) {
    auto setup = end_of(std::nullopt, 40);
    setup.setup_failure = "line 2 of slurm.setup failed with exit code 1: module load x";
    BOOST_TEST((parse_rank_failures(render_rank_failure(setup)) == std::vector{setup}));
    std::vector<RankFailure> const ends{end_of(2, 20), setup, end_of(std::nullopt, 1)};
    BOOST_TEST(describe(first_to_fail(ends).value()) ==
               "on n2, line 2 of slurm.setup failed with exit code 1: module load x");
}

BOOST_AUTO_TEST_CASE(an_end_is_described_in_a_sentence) {
    auto end = end_of(3, 42);
    BOOST_TEST(describe(end) == "rank 3 on n2 failed first: exit code 1");
    end.exit_code = 137;
    end.signal = 9;
    BOOST_TEST(describe(end) == "rank 3 on n2 failed first: killed by signal 9 (KILL)");
    end.lost_peer = "rank 2 on n1 was lost: it was \x1b silent";
    BOOST_TEST(
        describe(end) ==
        "rank 3 on n2 failed after another rank: killed by signal 9 (KILL) (rank 2 on n1 was lost: it was "
        "\\x1b silent)");
    end.lost_peer.clear();
    end.rank.reset();
    end.signal = 0;
    end.host = "n\x1b[2J";
    BOOST_TEST(describe(end) == "the entrypoint on n\\x1b[2J failed first: exit code 137");
}

BOOST_AUTO_TEST_SUITE_END()
