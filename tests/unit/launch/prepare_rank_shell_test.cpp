#include "prepare_rank_shell.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch;

namespace enter_rank_test {

constexpr char run_path[] = "/det/experiments/7/trials/3/runs/2";

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path proc = directory / "proc", run_dir = directory / "run";

    Fixture() {
        must(make_directories(proc / "self"));
        write_spec({});
    }

    void write_spec(std::optional<ContainerSpec> container) const {
        ExperimentSpec spec;
        spec.id = {7};
        spec.searcher = {"single", "loss", true, Json::object()};
        spec.config = Json::object();
        spec.container = std::move(container);
        must(make_directories(run_dir / info_files::directory));
        must(write_file(run_dir / info_files::directory / info_files::spec, render_spec(spec)));
    }

    void add_process(int pid, std::vector<std::string> const& variables) const {
        std::string text;
        for (auto const& each : variables) text += each + '\0';
        auto const place = proc / std::to_string(pid);
        must(make_directories(place));
        must(write_file(place / "environ", text));
        std::filesystem::create_directory_symlink(run_dir, place / "cwd");
    }
    std::string run() const { return std::string("DET_RUN_PATH=") + run_path; }
    std::string dir() const { return "DET_RUN_DIR=" + run_dir.string(); }

    Result<EnteredProgram> enter(std::uint32_t rank, std::vector<std::string> command = {}) const {
        Environment own;
        own.set("TERM", "xterm");
        return prepare_rank_shell({run_path, rank, std::move(command)}, own, proc);
    }
};

}  // namespace enter_rank_test

BOOST_FIXTURE_TEST_SUITE(enter_rank_test, enter_rank_test::Fixture)

BOOST_AUTO_TEST_CASE(a_command_gets_the_variables_and_the_directory_of_its_rank) {
    add_process(9, {run(), "RANK=3", "X=wrapper"});
    add_process(10, {run(), dir(), "SLURM_PROCID=0"});
    add_process(11, {run(), dir(), "RANK=2", "X=two"});
    add_process(12, {run(), dir(), "RANK=3", "X=three=3", "odd", "=", "TERM=dumb"});
    add_process(13, {"DET_RUN_PATH=/other", dir(), "RANK=3", "X=other"});
    auto const program = must(enter(3, {"env"}));
    BOOST_TEST(program.argv == std::vector<std::string>{"env"}, boost::test_tools::per_element());
    BOOST_TEST(program.environment.find("X").value_or("") == "three=3");
    BOOST_TEST(program.environment.find("TERM").value_or("") == "xterm");
    BOOST_TEST(program.directory == run_dir);
    BOOST_TEST(must(enter(3)).argv.at(0) == "/bin/bash");
}

BOOST_AUTO_TEST_CASE(without_a_process_of_the_rank_those_of_the_run_are_used) {
    add_process(10, {run(), dir(), "X=run"});
    BOOST_TEST(must(enter(3, {"env"})).environment.find("X").value_or("") == "run");
    BOOST_TEST(!must(enter(3, {"env"})).environment.find("RANK"));
}

BOOST_AUTO_TEST_CASE(in_a_container_the_command_gets_the_rank_and_the_directories_of_the_node) {
    ContainerSpec container;
    container.runtime = ContainerRuntime::apptainer;
    container.image = "/images/torch.sif";
    write_spec(container);
    add_process(10, {run(), dir(), "X=outside"});
    add_process(11, {run(), "DET_RUN_DIR=/run/determined", "RANK=3", "MASTER_ADDR=n0", "X=inside",
                     "OMPI_COMM_WORLD_SIZE=8", "OMPI_MCA_pml=ucx", "PMI_FD=7"});
    auto const program = must(enter(3, {"env"}));
    BOOST_REQUIRE(program.argv.size() == 3u);
    BOOST_TEST(program.argv[1] == "contain");
    BOOST_TEST(program.argv[2] == "env");
    BOOST_TEST(program.environment.find("X").value_or("") == "outside");
    BOOST_TEST(program.environment.find("RANK").value_or("") == "3");
    BOOST_TEST(program.environment.find("MASTER_ADDR").value_or("") == "n0");
    BOOST_TEST(program.environment.find("OMPI_COMM_WORLD_SIZE").value_or("") == "8");
    BOOST_TEST(!program.environment.find("OMPI_MCA_pml"));
    BOOST_TEST(!program.environment.find("PMI_FD"));
    BOOST_TEST(program.environment.find("DET_RUN_DIR").value_or("") == run_dir.string());
}

BOOST_AUTO_TEST_CASE(a_node_without_the_run_is_an_error) {
    BOOST_TEST((must_fail(enter(0)).code == codes::wrong_state));
    add_process(13, {"DET_RUN_PATH=/other", dir(), "RANK=0"});
    BOOST_TEST((must_fail(enter(0)).code == codes::wrong_state));
}

BOOST_AUTO_TEST_SUITE_END()
