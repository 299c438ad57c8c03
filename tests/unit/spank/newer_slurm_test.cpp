// Tests the code for Slurm 23.11 and later with the headers of any release: compiles the same sources again
// with another version number, in a namespace of their own.
extern "C" {
#include <slurm/spank.h>
#undef SLURM_VERSION_NUMBER
#define SLURM_VERSION_NUMBER SLURM_VERSION_NUM(25, 5, 0)
spank_err_t spank_prepend_task_argv(spank_t spank, int argc, char const* argv[]);
}
#include <det/foundation/text.hpp>
#include <det/protocol/step_run.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_spank.hpp"

#define spank spank_of_newer_slurm
#include "plugin_options.cpp"
#include "spank_handle.cpp"
#undef spank

namespace {

std::vector<std::string>& prepended() {
    static std::vector<std::string> words;
    return words;
}

}  // namespace

extern "C" spank_err_t spank_prepend_task_argv(spank_t, int count, char const* words[]) {
    prepended().assign(words, words + count);
    return static_cast<spank_err_t>(fake_spank().fails ? ESPANK_ERROR : ESPANK_SUCCESS);
}

BOOST_AUTO_TEST_SUITE(newer_slurm_test)

BOOST_AUTO_TEST_CASE(the_wrapper_is_prepended_by_slurms_own_call) {
    fake_spank() = {};
    fake_spank().argv = {"./train"};
    det::spank_of_newer_slurm::SpankHandle const host(nullptr);
    det::must(host.prepend_command("/opt/det/bin/det-wrap-rank", "--spank"));
    BOOST_TEST(det::join(prepended(), " ") == "/opt/det/bin/det-wrap-rank --spank");
    BOOST_TEST(fake_spank().environment.empty());
    BOOST_TEST(fake_spank().argv_pointers.empty());  // the argument vector was not read
    det::must(host.prepend_command("/opt/det/bin/det-launch", "script"));
    BOOST_TEST(det::join(prepended(), " ") == "/opt/det/bin/det-launch script");
    fake_spank().fails = true;
    BOOST_TEST(!host.prepend_command("/opt/det/bin/det-wrap-rank", "--spank").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
