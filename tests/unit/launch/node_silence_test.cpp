#include "node_silence.hpp"

#include <boost/test/unit_test.hpp>

using namespace det::launch::supervisor;
using det::transport::NodeMonitor;
using det::transport::Reach;
using namespace std::chrono_literals;
using Slurm = NodeSilence::Slurm;

namespace node_silence_test {

/// A node of many that has been silent for longer than the limit.
NodeSilence silent_node(Reach from_here, Reach from_peer) {
    NodeSilence silent;
    silent.node.presence = NodeMonitor::Presence::joined;
    silent.node.silence = 11s;
    silent.node.can_be_reached = true;
    silent.node.from_here = from_here;
    silent.node.from_peer = from_peer;
    silent.limit = 10s;
    return silent;
}

SilenceVerdict verdict_of(NodeSilence const& silent) { return judge_silence(silent).verdict; }

}  // namespace node_silence_test

using namespace node_silence_test;

BOOST_AUTO_TEST_SUITE(node_silence_test)

BOOST_AUTO_TEST_CASE(silence_counts_from_the_limit_on) {
    auto silent = silent_node(Reach::unreachable, Reach::unreachable);
    silent.node.silence = 9999ms;
    BOOST_TEST((verdict_of(silent) == SilenceVerdict::wait));
    BOOST_TEST(judge_silence(silent).reason.empty());
    silent.node.silence = 10s;
    BOOST_TEST((verdict_of(silent) == SilenceVerdict::lost));
}

BOOST_AUTO_TEST_CASE(a_node_that_has_never_connected_or_has_left_is_not_judged) {
    for (auto const presence : {NodeMonitor::Presence::absent, NodeMonitor::Presence::left}) {
        auto silent = silent_node(Reach::unreachable, Reach::unreachable);
        silent.node.presence = presence;
        silent.slurm = Slurm::lost;
        BOOST_TEST((verdict_of(silent) == SilenceVerdict::wait));
    }
}

BOOST_AUTO_TEST_CASE(a_node_whose_host_answers_is_suspended_or_loaded_and_not_lost) {
    for (auto const peer : {Reach::unknown, Reach::connected, Reach::refused, Reach::unreachable})
        BOOST_TEST((verdict_of(silent_node(Reach::connected, peer)) == SilenceVerdict::wait));
}

BOOST_AUTO_TEST_CASE(on_a_host_that_refuses_the_port_no_process_of_the_run_is_left) {
    BOOST_TEST((verdict_of(silent_node(Reach::refused, Reach::unknown)) == SilenceVerdict::gone));
    BOOST_TEST((verdict_of(silent_node(Reach::unreachable, Reach::refused)) == SilenceVerdict::gone));
    auto own = silent_node(Reach::refused, Reach::unknown);
    own.is_on_supervisors_host = true;
    BOOST_TEST((verdict_of(own) == SilenceVerdict::gone));
}

BOOST_AUTO_TEST_CASE(a_node_that_another_one_reaches_is_only_cut_from_the_supervisor) {
    BOOST_TEST((verdict_of(silent_node(Reach::unreachable, Reach::connected)) == SilenceVerdict::wait));
}

BOOST_AUTO_TEST_CASE(an_examination_that_has_not_ended_says_nothing) {
    auto const judged = judge_silence(silent_node(Reach::unknown, Reach::unknown));
    BOOST_TEST((judged.verdict == SilenceVerdict::wait));
    BOOST_TEST(judged.reason.empty());
}

BOOST_AUTO_TEST_CASE(if_no_other_node_can_be_asked_slurm_decides) {
    auto silent = silent_node(Reach::unreachable, Reach::unknown);
    BOOST_TEST((verdict_of(silent) == SilenceVerdict::ask_slurm));
    silent.slurm = Slurm::lost;
    BOOST_TEST((verdict_of(silent) == SilenceVerdict::lost));
    // The network of the supervisor may be the cause, although slurmctld answers.
    silent.slurm = Slurm::says_nothing;
    BOOST_TEST((verdict_of(silent) == SilenceVerdict::wait));
}

BOOST_AUTO_TEST_CASE(behind_a_firewall_only_slurm_counts) {
    for (auto const reach : {Reach::refused, Reach::unreachable}) {
        auto silent = silent_node(reach, reach);
        silent.node.can_be_reached = false;
        BOOST_TEST((verdict_of(silent) == SilenceVerdict::ask_slurm));
        silent.slurm = Slurm::says_nothing;
        BOOST_TEST((verdict_of(silent) == SilenceVerdict::wait));
        silent.slurm = Slurm::lost;
        BOOST_TEST((verdict_of(silent) == SilenceVerdict::lost));
    }
}

BOOST_AUTO_TEST_SUITE_END()
