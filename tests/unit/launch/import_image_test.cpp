// An image is imported once, by whichever process needs it first.
#include <det/foundation/files.hpp>
#include <det/launch/node/import_image.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::node;
using namespace std::chrono_literals;

namespace import_image_test {

/// Writes the file that the command names last.
struct FakeRuntime : ProcessRunner {
    std::atomic<int> calls = 0;
    int exit_code = 0;

    Result<ProcessOutput> run(Command const& command) override {
        ++calls;
        if (exit_code == 0) must(write_file(command.argv.back(), "image"));
        return ProcessOutput{exit_code, "", exit_code == 0 ? "" : "first line\nno such image\n"};
    }
};

ImageImport import_into(std::filesystem::path const& file) {
    ImageImport import;
    import.file = file;
    import.command = [](auto const& path) { return std::vector<std::string>{"runtime", "pull", path};
};
import.poll_interval = 1ms;
return import;
}  // namespace import_image_test

void make_old(std::filesystem::path const& path) {
    timespec const long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
    BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0) == 0);
}

}  // namespace import_image_test
using namespace import_image_test;

BOOST_AUTO_TEST_SUITE(import_image_test)

BOOST_AUTO_TEST_CASE(of_several_processes_one_imports_and_the_others_wait) {
    TemporaryDirectory const directory;
    auto const file = directory.path() / "images/x.sif";
    FakeRuntime runtime;
    {
        std::vector<std::jthread> processes;
        for (int i = 0; i < 8; ++i) {
            processes.emplace_back([&] {
                auto const made = import_image(import_into(file), runtime);
                BOOST_TEST((made && *made == file));
            });
        }
    }
    BOOST_TEST(runtime.calls == 1);
    BOOST_TEST(must(list_directory(file.parent_path())) == std::vector<std::string>{"x.sif"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failed_import_leaves_nothing_and_says_why) {
    TemporaryDirectory const directory;
    auto const file = directory.path() / "x.sif";
    FakeRuntime runtime;
    runtime.exit_code = 255;
    auto const failed = must_fail(import_image(import_into(file), runtime));
    BOOST_TEST((failed.code == codes::process));
    BOOST_TEST(failed.message == "'runtime' ended with 255: no such image");
    BOOST_TEST(must(list_directory(directory.path())).empty());
    runtime.exit_code = 0;
    must(import_image(import_into(file), runtime));
}

BOOST_AUTO_TEST_CASE(the_lock_of_a_process_that_is_gone_is_taken) {
    TemporaryDirectory const directory;
    auto const file = directory.path() / "x.sif";
    must(make_directory(directory.path() / "x.sif.lock"));
    make_old(file.string() + ".lock");
    FakeRuntime runtime;
    must(import_image(import_into(file), runtime));
    BOOST_TEST(runtime.calls == 1);
}

BOOST_AUTO_TEST_CASE(an_older_file_is_made_anew_and_one_that_others_write_is_refused) {
    TemporaryDirectory const directory;
    auto const file = directory.path() / "x.sif";
    must(write_file(file, "old"));
    FakeRuntime runtime;
    auto import = import_into(file);
    must(import_image(import, runtime));
    BOOST_TEST(runtime.calls == 0);
    import.not_before = std::filesystem::last_write_time(file);
    make_old(file);
    must(import_image(import, runtime));
    BOOST_TEST(must(read_file(file)) == "image");
    std::filesystem::permissions(file, std::filesystem::perms(0666));
    BOOST_TEST((must_fail(import_image(import_into(file), runtime)).code == codes::unsafe_owner));
}

BOOST_AUTO_TEST_SUITE_END()
