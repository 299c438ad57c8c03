#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/protocol/step_run.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check_result.hpp"
#include "fake_spank.hpp"
#include "hooks.hpp"
#include "srun_output.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::spank;

namespace local_user_init_test {

/// srun's own environment, without variables of the job.
struct Fixture {
    FakeSpank& slurm = fake_spank();
    Fixture() {
        slurm = {};
        slurm.context = 1;
        slurm.options = {{"det", std::nullopt}};
        forget();
    }
    ~Fixture() { forget(); }
    Fixture(Fixture const&) = delete;
    Fixture& operator=(Fixture const&) = delete;

    static void forget() {
        for (auto const* name : {"MASTER_PORT", "DET_RUN_KEY", "DET_RUN_JOB", "DET_LAUNCH", "DET_SPANK",
                                 "SLURM_RESTART_COUNT", "DET_LABELS", "DET_PLACED", "DET_JOB_OUTPUT",
                                 "SLURM_JOB_ID", "SLURM_STDOUTMODE", "DET_STEP_CHIEF", "DET_LOCAL_SUFFIX"})
            ::unsetenv(name);
    }
    static std::string chosen_port() {
        must(on_local_user_init(SpankHandle(nullptr), {}));
        auto const* port = ::getenv("MASTER_PORT");
        return port == nullptr ? "" : port;
    }
};

/// Replaces standard output and error of this process. srun's own descriptors are compared, not a fake's.
class Outputs {
public:
    Outputs(int out, int err) {
        for (int const descriptor : {STDOUT_FILENO, STDERR_FILENO})
            saved_.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
        ::dup2(out, STDOUT_FILENO);
        ::dup2(err, STDERR_FILENO);
    }
    ~Outputs() {
        ::dup2(saved_[0].get(), STDOUT_FILENO);
        ::dup2(saved_[1].get(), STDERR_FILENO);
    }
    Outputs(Outputs const&) = delete;
    Outputs& operator=(Outputs const&) = delete;

private:
    std::vector<UniqueFd> saved_;
};

std::string chosen_labels() {
    must(on_local_user_init(SpankHandle(nullptr), {}));
    auto const* labels = ::getenv("DET_LABELS");
    return labels == nullptr ? "" : labels;
}

UniqueFd open_file(std::filesystem::path const& path) {
    return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/// A listening socket on the loopback interface of this host.
UniqueFd take_port(std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool const taken = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                       ::listen(socket.get(), 1) == 0;
    return taken ? std::move(socket) : UniqueFd();
}

}  // namespace local_user_init_test

BOOST_FIXTURE_TEST_SUITE(local_user_init_test, Fixture)

BOOST_AUTO_TEST_CASE(srun_chooses_a_port_that_is_free) {
    auto const first = master_port("123.0-0", 0);
    auto const taken = take_port(first);
    auto const port = chosen_port();
    BOOST_TEST(port != "");
    BOOST_TEST(port != std::to_string(first));
}

BOOST_AUTO_TEST_CASE(a_given_port_stays) {
    ::setenv("MASTER_PORT", "4242", 1);
    BOOST_TEST(chosen_port() == "4242");
}

BOOST_AUTO_TEST_CASE(launchers_supervised_runs_and_other_steps_get_no_port) {
    slurm.options["det-launch"] = "node";
    BOOST_TEST(chosen_port() == "");
    slurm.options = {{"det", "off"}};
    ::setenv("DET_SPANK", "auto", 1);
    BOOST_TEST(chosen_port() == "");
    slurm.options.clear();
    ::setenv("DET_RUN_KEY", "7.0.0", 1);
    ::setenv("DET_RUN_JOB", "123", 1);
    BOOST_TEST(chosen_port() == "");
    ::unsetenv("DET_RUN_KEY");
    ::setenv("DET_LAUNCH", "node", 1);
    BOOST_TEST(chosen_port() == "");
    slurm.options["det-launch"] = "rank";  // an option comes before the variable
    BOOST_TEST(chosen_port() != "");
}

BOOST_AUTO_TEST_CASE(variables_of_a_run_of_another_job_are_removed_if_an_option_asks_for_a_run) {
    ::setenv("DET_SPANK", "auto", 1);
    ::setenv("DET_RUN_KEY", "7.0.0", 1);
    ::setenv("DET_RUN_JOB", "122", 1);
    ::setenv("DET_LAUNCH", "node", 1);
    ::setenv("MASTER_PORT", "4242", 1);
    slurm.options.clear();
    BOOST_TEST(chosen_port() == "4242");  // DET_SPANK is inherited too: the plugin does nothing
    slurm.options = {{"det", std::nullopt}};
    auto const port = chosen_port();
    BOOST_TEST(port != "");
    BOOST_TEST(port != "4242");
    BOOST_TEST(::getenv("DET_RUN_KEY") == std::string());  // task_init removes it
    BOOST_TEST(::getenv("DET_LAUNCH") == std::string());
}

BOOST_AUTO_TEST_CASE(streams_that_are_read_as_data_get_no_labels) {
    auto const pipe = must(make_pipe());
    auto const terminal_like = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    auto const labels = [](UniqueFd const& out, UniqueFd const& err) {
        Outputs const outputs(out.get(), err.get());
        return chosen_labels();
    };
    BOOST_TEST(labels(pipe.write_end, terminal_like) == "stderr");
    BOOST_TEST(labels(terminal_like, pipe.write_end) == "stdout");
    BOOST_TEST(labels(pipe.write_end, pipe.write_end) == "none");
    BOOST_TEST(labels(terminal_like, terminal_like) == "stdout,stderr");
    ::setenv("SLURM_STDOUTMODE", "data.bin", 1);  // srun --output=data.bin
    BOOST_TEST(labels(terminal_like, terminal_like) == "none");
}

BOOST_AUTO_TEST_CASE(the_files_of_the_batch_script_are_distinguished_from_those_that_it_names) {
    TemporaryDirectory directory;
    auto const log = open_file(directory / "slurm-123.out");
    auto const data = open_file(directory / "data");
    ::setenv("SLURM_JOB_ID", "123", 1);
    {
        Outputs const of_script(log.get(), log.get());
        ::setenv("DET_JOB_OUTPUT", render_job_output("123").c_str(), 1);
        BOOST_TEST(chosen_labels() == "stdout,stderr");
    }
    Outputs const redirected(data.get(), log.get());
    BOOST_TEST(chosen_labels() == "stderr");
    ::setenv("SLURM_JOB_ID", "124", 1);  // the record of another job says nothing
    BOOST_TEST(chosen_labels() == "none");
}

BOOST_AUTO_TEST_CASE(a_supervisors_own_step_is_not_judged_but_the_steps_of_its_tasks_are) {
    auto const pipe = must(make_pipe());
    Outputs const outputs(pipe.write_end.get(), pipe.write_end.get());
    slurm.options.clear();
    ::setenv("DET_SPANK", "auto", 1);
    ::setenv("DET_RUN_KEY", "7.0.0", 1);
    ::setenv("DET_RUN_JOB", "123", 1);
    BOOST_TEST(chosen_labels() == "");
    ::setenv("DET_PLACED", "123.0.0", 1);
    BOOST_TEST(chosen_labels() == "none");
}

BOOST_AUTO_TEST_CASE(the_tasks_learn_on_which_node_slurm_has_placed_rank_0) {
    slurm.nodes = "n[2-3,0-1]";
    slurm.tasks_of_nodes = {{4}, {5}, {0, 1}, {2, 3}};
    must(on_local_user_init(SpankHandle(nullptr), {}));
    BOOST_REQUIRE(::getenv("DET_STEP_CHIEF") != nullptr);
    BOOST_TEST(std::string(::getenv("DET_STEP_CHIEF")) == "123.0 n0");
    ::unsetenv("DET_STEP_CHIEF");
    slurm.tasks_of_nodes = {{0}};
    must(on_local_user_init(SpankHandle(nullptr), {}));
    BOOST_TEST(::getenv("DET_STEP_CHIEF") == nullptr);
}

BOOST_AUTO_TEST_CASE(each_step_gets_a_suffix_for_its_directory_that_another_user_can_not_guess) {
    auto const suffix = [this] {
        must(on_local_user_init(SpankHandle(nullptr), {}));
        auto const* const value = ::getenv("DET_LOCAL_SUFFIX");
        return std::string(value == nullptr ? "" : value);
    };
    auto const first = suffix();
    BOOST_TEST(first.size() == 36u);
    BOOST_TEST(suffix() != first);
    ::setenv("DET_LOCAL_SUFFIX", "of the run", 1);
    ::setenv("DET_SPANK", "auto", 1);
    ::setenv("DET_RUN_KEY", "7.0.0", 1);
    ::setenv("DET_RUN_JOB", "123", 1);
    BOOST_TEST(suffix() == "of the run");
}

BOOST_AUTO_TEST_CASE(contradicting_options_are_reported_before_anything_starts) {
    slurm.options = {{"det-wrap", "off"}, {"det-log", "x"}};
    auto const error = must_fail(on_local_user_init(SpankHandle(nullptr), {}));
    BOOST_TEST(error.message == "--det-log needs the wrapper that --det-wrap=off leaves out");
}

BOOST_AUTO_TEST_SUITE_END()
