#include "open_module.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_module.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::transport;

BOOST_AUTO_TEST_SUITE(open_module_test)

BOOST_AUTO_TEST_CASE(a_missing_module_is_an_error_with_the_searched_paths_and_a_hint) {
    auto const error = must_fail(
        transport::open_module({"det_absent.so", "det_absent_module", "Absent", "libabsent", "install it"}));
    BOOST_TEST((error.code == codes::not_supported));
    BOOST_TEST(error.message == "Absent cannot be used: det_absent.so does not open");
    BOOST_TEST(error.hint == "install it");
    BOOST_TEST(error.notes.size() == 1u);
    BOOST_TEST(error.notes[0].find("det_absent.so: cannot open shared object file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_library_that_is_not_a_module_is_refused) {
    auto const error =
        must_fail(transport::open_module({"libc.so.6", "det_mpi_module", "MPI", "libmpi", "hint"}));
    BOOST_TEST(error.notes[0] ==
               "libc.so.6: not a module of this program, it has no function det_mpi_module");
}

BOOST_AUTO_TEST_CASE(module_paths_begin_with_det_modules_and_end_with_the_search_path) {
    TemporaryDirectory const folder;
    must(write_file(folder.path() / "det_x.so", ""));
    auto const files = module_candidates(Environment({{"DET_MODULES", folder.path().string()}}), "det_x.so");
    BOOST_TEST(files.size() == 2u);
    BOOST_TEST(files.front() == folder.path() / "det_x.so");
    BOOST_TEST(files.back() == "det_x.so");
}

BOOST_AUTO_TEST_CASE(loaded_libraries_are_found_by_name) {
    auto const libraries = loaded_libraries("libc.so");
    BOOST_TEST(libraries.size() == 1u);
    BOOST_TEST(loaded_libraries("libabsent").empty());
}

BOOST_AUTO_TEST_SUITE_END()
