// main() of the test programs under mpirun. Every rank runs the same tests. All ranks return the highest exit
// code. Rank 0 prints the report; other ranks print only failures.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace {

bool init_tests() { return true; }

int run_tests(int argc, char** argv, int rank) {
    std::vector<std::string> words(argv, argv + argc);
    if (rank != 0) words.push_back("--report_level=no");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return boost::unit_test::unit_test_main(&init_tests, static_cast<int>(words.size()), arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int const code = run_tests(argc, argv, rank);
    if (code != 0) std::fprintf(stderr, "rank %d: tests failed (%d)\n", rank, code);
    int worst = 0;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst;
}
