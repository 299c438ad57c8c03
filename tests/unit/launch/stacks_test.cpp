// The stacks of the ranks of a run that hangs.
#include "stacks.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::launch::wrap_rank;
using Reaction = ProcessView::Reaction;

namespace stacks_test {

constexpr auto none = Reaction::none, caught = Reaction::caught;

ProcessView process(pid_t pid, pid_t parent, std::string name, Reaction reaction = none,
                    bool is_rank = false) {
    bool const is_ours = name.starts_with("det-");
    return {pid, parent, reaction, is_rank, std::move(name), is_ours};
}

std::vector<StackTarget> choose(std::vector<ProcessView> const& processes, bool may_signal = true) {
    return choose_stack_targets(processes, 10, may_signal);
}

using Targets = std::vector<StackTarget>;

}  // namespace stacks_test

BOOST_AUTO_TEST_SUITE(stacks_test)

BOOST_AUTO_TEST_CASE(a_program_that_handles_the_signal_prints_its_stack_its_workers_do_not) {
    std::vector<ProcessView> const tree{process(10, 1, "sh"), process(11, 10, "python3", caught),
                                        process(12, 11, "python3", caught)};
    BOOST_TEST((choose(tree) == Targets{{11, "python3", true}}));
    // The signal has another meaning: the topmost program, without the shell.
    BOOST_TEST((choose(tree, false) == Targets{{11, "python3", false}}));
}

BOOST_AUTO_TEST_CASE(each_rank_below_a_launcher_has_a_stack) {
    std::vector<ProcessView> const tree{process(10, 1, "det-launch"),
                                        process(11, 10, "torchrun", caught),
                                        process(12, 11, "det-wrap-rank", none, true),
                                        process(13, 12, "sh", none, true),
                                        process(14, 13, "python3", caught, true),
                                        process(22, 11, "det-wrap-rank", none, true),
                                        process(23, 22, "train", none, true)};
    BOOST_TEST((choose(tree) == Targets{{14, "python3", true}, {23, "train", false}}));
}

BOOST_AUTO_TEST_CASE(of_shells_alone_the_innermost_has_a_stack) {
    BOOST_TEST((choose({process(10, 1, "sh"), process(11, 10, "bash")}) == Targets{{11, "bash", false}}));
    BOOST_TEST((choose({process(10, 1, "sleep")}) == Targets{{10, "sleep", false}}));
    BOOST_TEST(choose({process(11, 1, "sleep")}).empty());  // the command has ended
    BOOST_TEST(choose({process(10, 1, "det-launch")}).empty());
}

BOOST_AUTO_TEST_CASE(a_debuggers_output_is_reduced_to_its_frames) {
    StackTarget const target{7, "train", false};
    ProcessOutput const output{0,
                               "[New LWP 8]\nwarning: x\n\nThread 1 (LWP 7):\n#0  pause ()\n#1  main "
                               "()\n[Inferior 1 (process 7) detached]\n",
                               ""};
    BOOST_TEST(describe_stack(target, "gdb", output) ==
               "det-submit: the stack of process 7 (train), by gdb:\nThread 1 (LWP 7):\n#0  pause ()\n#1  "
               "main ()\n");
    ProcessOutput const eu_stack{0, "PID 7 - process\nTID 7:\n#0  0x1 pause\n", ""};
    BOOST_TEST(
        describe_stack(target, "eu-stack", eu_stack).ends_with("by eu-stack:\nTID 7:\n#0  0x1 pause\n"));
}

BOOST_AUTO_TEST_CASE(a_sentence_says_why_there_is_no_stack) {
    StackTarget const target{7, "train", false};
    BOOST_TEST(describe_stack(target, "gdb", std::nullopt) ==
               "det-submit: no stack of process 7 (train): gdb took longer than 10 s\n");
    ProcessOutput const refused{1, "", "warning: a\nptrace: Operation not permitted.\nNo stack.\n"};
    BOOST_TEST(describe_stack(target, "gdb", refused) ==
               "det-submit: no stack of process 7 (train): gdb: ptrace: Operation not permitted.\n");
    BOOST_TEST(describe_stack(target, "gdb", ProcessOutput{}).ends_with("gdb: it printed nothing\n"));
}

BOOST_AUTO_TEST_SUITE_END()
