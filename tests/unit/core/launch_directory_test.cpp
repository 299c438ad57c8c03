#include "launch_directory.hpp"

#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::core;

namespace launch_directory_test {

Environment mpirun() {
    Environment environment;
    environment.set("OMPI_COMM_WORLD_RANK", "1");
    environment.set("PMIX_NAMESPACE", "prterun/host@1");
    environment.set("TMPDIR", "/scratch");
    return environment;
}

}  // namespace launch_directory_test

BOOST_AUTO_TEST_SUITE(launch_directory_test)

BOOST_AUTO_TEST_CASE(ranks_of_one_mpirun_meet_in_a_directory_of_their_own) {
    auto const own = "/scratch/det-" + std::to_string(::getuid()) + "-prterun_host@1";
    BOOST_TEST(find_launch_directory(mpirun()).value() == own);
    auto elsewhere = mpirun();
    elsewhere.unset("TMPDIR");
    BOOST_TEST(find_launch_directory(elsewhere).value().parent_path() == "/tmp");
}

BOOST_AUTO_TEST_CASE(ranks_of_other_launchers_meet_by_the_port_of_the_launcher) {
    auto const own = "/tmp/det-" + std::to_string(::getuid()) + "-29511";
    Environment torchrun, horovodrun;
    torchrun.set("RANK", "1");
    torchrun.set("MASTER_PORT", "29511");
    horovodrun.set("HOROVOD_RANK", "1");
    horovodrun.set("HOROVOD_GLOO_RENDEZVOUS_PORT", "29511");
    BOOST_TEST(find_launch_directory(torchrun).value() == own);
    BOOST_TEST(find_launch_directory(horovodrun).value() == own);
    torchrun.unset("MASTER_PORT");
    BOOST_TEST(!find_launch_directory(torchrun).has_value());
}

BOOST_AUTO_TEST_CASE(concurrent_steps_have_different_sockets_and_ranks_of_one_horovodrun_the_same) {
    Environment environment;
    BOOST_TEST(rendezvous_socket_name(environment) == "ranks-0.socket");
    environment.set("SLURM_STEP_ID", "4");
    environment.set("HOROVOD_GLOO_RENDEZVOUS_PORT", "29511");  // without HOROVOD_RANK: of another launcher
    BOOST_TEST(rendezvous_socket_name(environment) == "ranks-4.socket");
    environment.set("HOROVOD_RANK", "1");
    BOOST_TEST(rendezvous_socket_name(environment) == "ranks-port-29511.socket");
}

BOOST_AUTO_TEST_CASE(there_is_no_directory_without_a_job_name_or_with_a_chosen_transport) {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"}) {
        auto environment = mpirun();
        environment.unset(name);
        BOOST_TEST(!find_launch_directory(environment).has_value(), name);
    }
    auto told = mpirun();
    told.set("DET_TRANSPORT", "mpi");
    BOOST_TEST(!find_launch_directory(told).has_value());
}

BOOST_AUTO_TEST_CASE(a_directory_that_other_users_can_access_is_refused) {
    TemporaryDirectory const parent;
    auto const path = parent / "rendezvous";
    must(make_private_directory(path));
    must(make_private_directory(path));  // as another rank calls it
    BOOST_REQUIRE(::chmod(path.c_str(), 0770) == 0);
    BOOST_TEST((must_fail(make_private_directory(path)).code == codes::unsafe_owner));
    auto const link = parent / "link";
    must(make_private_directory(parent / "other"));
    std::filesystem::create_symlink(parent / "other", link);
    BOOST_TEST(!make_private_directory(link));
}

BOOST_AUTO_TEST_SUITE_END()
