// Snapshots in the memory of a node, with ranks that are threads.
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/foundation/files.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_file.hpp"
#include "saved_model.hpp"

using namespace det;
using namespace det::checkpoint;

namespace memory_snapshots_test {

namespace fs = std::filesystem;

/// A matrix whose rows are divided among the ranks, a vector that all ranks have, and a scalar.
struct Model {
    static constexpr std::uint64_t rows = 61, columns = 301;
    std::vector<float> matrix;
    std::vector<double> vector = std::vector<double>(1000);
    std::int64_t step = 0;
    Box part;

    Model(int rank, int size) : part(rows_of(rank, size, rows, columns)) {
        matrix.resize(part.shape[0] * columns);
    }
    void fill(std::uint64_t seed) {
        for (std::size_t i = 0; i < matrix.size(); ++i)
            matrix[i] = static_cast<float>(seed) + static_cast<float>(part.begin[0] * columns + i);
        std::iota(vector.begin(), vector.end(), static_cast<double>(seed));
        step = static_cast<std::int64_t>(seed);
    }
    State state() {
        return {NamedTensor::slice("matrix", DataType::float32, {rows, columns}, part, matrix.data()),
                NamedTensor::whole("vector", DataType::float64, {vector.size()}, vector.data()),
                NamedTensor::whole("step", DataType::int64, {}, &step)};
    }
    bool is_filled_with(std::uint64_t seed, int rank, int size) const {
        Model expected(rank, size);
        expected.fill(seed);
        return matrix == expected.matrix && vector == expected.vector && step == expected.step;
    }
};

struct Fixture {
    TemporaryDirectory shm;
    fs::path const directory = shm / ("det-memory-" + std::to_string(::geteuid()) + "-100-7.3");
    std::mutex mutex;
    std::vector<std::string> warnings;
    std::atomic<std::uint64_t> available_bytes = std::uint64_t{1} << 40;
    std::function<Status()> may_complete;

    MemorySnapshotOptions options(std::uint32_t run, ThreadPeers const& peers) {
        MemorySnapshotOptions options;
        options.place = {shm.path(), "100", "7.3", "suffix"};
        options.run = run;
        options.is_first_of_node = peers.rank() == 0;
        options.available_bytes = [this] { return available_bytes.load(); };
        options.may_complete = may_complete;
        options.warn = [this](std::string const& warning) {
            std::lock_guard const lock(mutex);
            warnings.push_back(warning);
        };
        return options;
    }
    /// Keeps snapshots of these steps in one run. Returns the number of ranks and steps that were kept.
    int keep(std::uint32_t run, int size, std::vector<std::uint64_t> const& steps) {
        std::atomic<int> kept = 0;
        as_ranks(size, [&](ThreadPeers& peers) {
            MemorySnapshots snapshots(peers, options(run, peers));
            Model model(peers.rank(), size);
            for (auto const step : steps) {
                model.fill(step);
                kept += must(snapshots.keep(step, Json{{"steps_completed", step}}, model.state())) ? 1 : 0;
                model.fill(999);  // the state has been copied
            }
        });
        return kept;
    }
    /// Loads in a later run with so many ranks. Returns the steps of the state that all ranks have then; 0 if
    /// there is no snapshot.
    std::uint64_t load(std::uint32_t run, int size, std::uint64_t beyond = 0, std::size_t passed_over = 0) {
        std::atomic<std::uint64_t> steps = 0;
        std::atomic<int> equal = 0;
        as_ranks(size, [&](ThreadPeers& peers) {
            MemorySnapshots snapshots(peers, options(run, peers));
            Model model(peers.rank(), size);
            auto const found = must(snapshots.load(model.state(), beyond));
            if (!found) {
                ++equal;
                return;
            }
            auto const& manifest = found->loaded.manifest;
            if (peers.is_chief()) steps = manifest.steps_completed;
            bool const is_described =
                found->loaded.is_from_memory &&
                manifest.metadata->at("steps_completed") == manifest.steps_completed &&
                manifest.uuid == memory_snapshot_name(found->run, manifest.steps_completed) &&
                found->loaded.passed_over.size() == passed_over;
            equal += is_described && model.is_filled_with(manifest.steps_completed, peers.rank(), size);
        });
        BOOST_TEST(equal == size);
        return steps;
    }
    std::vector<std::string> files() const { return must(list_directory(directory)); }
    void overwrite_byte(std::string const& name, off_t offset) const {
        UniqueFd const file(::open((directory / name).c_str(), O_RDWR));
        char byte = 0;
        BOOST_REQUIRE(::pread(file.get(), &byte, 1, offset) == 1);
        byte = static_cast<char>(byte ^ 1);
        BOOST_REQUIRE(::pwrite(file.get(), &byte, 1, offset) == 1);
    }
};

}  // namespace memory_snapshots_test

BOOST_FIXTURE_TEST_SUITE(memory_snapshots_test, Fixture)

BOOST_AUTO_TEST_CASE(a_later_run_with_any_number_of_ranks_loads_the_newest_snapshot) {
    for (int const writers : {1, 2, 4}) {
        must(remove_tree(directory));
        BOOST_TEST(keep(1, writers, {10, 20, 30}) == 3 * writers);
        for (int const readers : {1, 2, 4, 7})
            BOOST_TEST(load(2, readers) == 30u, writers << " wrote, " << readers << " read");
    }
    BOOST_TEST(load(2, 4, 29) == 30u);
    BOOST_TEST(load(2, 4, 30) == 0u);  // the checkpoint is not older
    BOOST_TEST(load(1, 4) == 0u);      // of the run itself
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_child_of_fork_waits_for_no_thread_of_its_parent) {
    as_ranks(1, [&](ThreadPeers& peers) {
        auto snapshots = std::make_unique<MemorySnapshots>(peers, options(0, peers));
        Model model(0, 1);
        model.fill(5);
        BOOST_TEST(must(snapshots->keep(5, Json{{"steps_completed", 5}}, model.state())));
        auto const child = ::fork();
        if (child == 0) {
            ::alarm(60);
            snapshots->finish();
            snapshots.reset();
            ::_exit(7);
        }
        int status = 0;
        BOOST_TEST(::waitpid(child, &status, 0) == child);
        BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 7));
    });
    BOOST_TEST(load(1, 1) == 5u);
}

BOOST_AUTO_TEST_CASE(the_newest_two_are_kept_in_private_files_whose_memory_is_used_again) {
    keep(1, 2, {10, 20, 30});
    BOOST_TEST(files() == (std::vector<std::string>{"1.20.0of2", "1.20.1of2", "1.30.0of2", "1.30.1of2"}),
               boost::test_tools::per_element());
    struct stat info {};
    BOOST_REQUIRE(::lstat(directory.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 07777) == 0700u);
    BOOST_REQUIRE(::lstat((directory / "1.20.1of2").c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 07777) == 0600u);
    auto const inode = info.st_ino;
    as_ranks(2, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(2, peers));
        Model model(peers.rank(), 2);
        must(snapshots.load(model.state(), 0));
        available_bytes = 0;  // no further memory is needed
        model.fill(40);
        must_be(must(snapshots.keep(40, Json::object(), model.state())), "step 40 is kept");
    });
    BOOST_REQUIRE(::lstat((directory / "2.40.1of2").c_str(), &info) == 0);
    BOOST_TEST(info.st_ino == inode);
    BOOST_TEST(files().size() == 4u);
}

BOOST_AUTO_TEST_CASE(the_snapshot_that_was_loaded_stays_until_all_ranks_have_a_newer_one) {
    keep(1, 2, {10, 20});
    must(remove_tree(directory / "1.20.1of2"));  // rank 1 was killed before
    as_ranks(2, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(2, peers));
        Model model(peers.rank(), 2);
        must_be(must(snapshots.load(model.state(), 0)).has_value(), "a snapshot is loaded");
        must(snapshots.keep(20, Json{{"steps_completed", 20}}, model.state()));
    });
    BOOST_TEST(path_exists(directory / "1.10.0of2"));
    BOOST_TEST(path_exists(directory / "1.10.1of2"));
    must(remove_tree(directory / "2.20.0of2"));  // rank 0 was killed before
    BOOST_TEST(load(3, 2) == 0u);                // what run 1 has kept is not of run 2
}

BOOST_AUTO_TEST_CASE(only_the_snapshots_of_the_run_before_are_loaded) {
    keep(1, 2, {10, 50});
    BOOST_TEST(load(3, 2) == 0u);  // run 2 has continued from a checkpoint
    as_ranks(1, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(3, peers));
        BOOST_TEST(snapshots.list(0).empty());
        Model model(0, 1);
        BOOST_TEST((must_fail(snapshots.load_named(model.state(), "memory-1-50")).code ==
                    codes::no_such_checkpoint));
    });
    BOOST_TEST(load(2, 2) == 50u);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_queued_again_loads_no_snapshot_and_they_are_removed) {
    MemoryPlace place{shm.path(), "100", "7.3", "suffix", "0"};
    auto const first = must(make_memory_directory(place));
    for (auto const* name : {"0.10.0of1", "1.10.0of1", "1.20.0of1", "2.30.0of1", "new-0of1-1"})
        must(write_file(first / name, "a snapshot"));
    place.restart_count = "1";
    BOOST_TEST(find_memory_directories(place).empty());
    auto const second = must(make_memory_directory(place));
    BOOST_TEST(second != first);
    place.restart_count.clear();
    BOOST_TEST(find_memory_directories(place).size() == 2u);
    place.restart_count = "0";
    remove_older_snapshots(place, 2);
    BOOST_TEST(!path_exists(second));
    BOOST_TEST(must(list_directory(first)) == (std::vector<std::string>{"1.10.0of1", "1.20.0of1"}),
               boost::test_tools::per_element());
    BOOST_TEST(restart_count_of("7.3.2-100-12") == "12");
    BOOST_TEST(restart_count_of("7.3.2") == "0");
    BOOST_TEST(restart_count_of("") == "0");
    BOOST_TEST(restart_count_of("a-b") == "0");
}

BOOST_AUTO_TEST_CASE(a_snapshot_whose_reports_are_not_written_does_not_count) {
    std::atomic<int> calls = 0;
    may_complete = [&]() -> Status {  // the second snapshot of a rank
        if (++calls != 2) return Ok{};
        return Error{codes::file_system, "no storage"};
    };
    BOOST_TEST(keep(1, 1, {10, 20}) == 2);
    BOOST_TEST(load(2, 1) == 10u);
    calls = 0;
    must(remove_tree(directory));
    BOOST_TEST(keep(1, 1, {10, 20, 30}) == 3);
    BOOST_TEST(files() == (std::vector<std::string>{"1.10.0of1", "1.30.0of1"}),
               boost::test_tools::per_element());
    BOOST_TEST(load(2, 1) == 30u);
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(an_error_of_the_last_snapshot_is_not_lost_by_a_load) {
    as_ranks(1, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(1, peers));
        Model model(0, 1);
        BOOST_TEST(must(snapshots.keep(10, Json::object(), model.state())));
        must(remove_tree(directory));
        BOOST_REQUIRE(!path_exists(directory));
        // The next file can't be made, or given its name.
        must(write_file(directory, "no directory"));
        (void)snapshots.keep(20, Json::object(), model.state());
        BOOST_TEST(!must(snapshots.load(model.state(), 0)).has_value());
        must(remove_tree(directory));
        BOOST_TEST(!must(snapshots.keep(30, Json::object(), model.state())));
        BOOST_TEST(snapshots.is_off());
    });
}

BOOST_AUTO_TEST_CASE(a_damaged_or_short_snapshot_is_passed_over_by_all_ranks) {
    keep(1, 4, {10, 20});
    overwrite_byte("1.20.2of4", 9000);  // data
    BOOST_TEST(load(2, 4, 0, 1) == 10u);
    overwrite_byte("1.20.2of4", 9000);
    BOOST_TEST(load(2, 4) == 20u);
    overwrite_byte("1.20.3of4", 4100);  // JSON
    BOOST_TEST(load(2, 4, 0, 1) == 10u);
    overwrite_byte("1.20.3of4", 4100);
    overwrite_byte("1.20.0of4", 3);  // the first page
    BOOST_TEST(load(2, 4, 0, 1) == 10u);
    overwrite_byte("1.20.0of4", 3);
    BOOST_TEST(load(2, 4) == 20u);
    BOOST_REQUIRE(::truncate((directory / "1.20.1of4").c_str(), 8192) == 0);
    BOOST_TEST(load(2, 4, 0, 1) == 10u);
    BOOST_REQUIRE(::truncate((directory / "1.10.1of4").c_str(), 100) == 0);
    BOOST_TEST(warnings.empty());
    BOOST_TEST(load(2, 4) == 0u);
    BOOST_REQUIRE(warnings.size() == 2u);  // the checkpoint is used
    BOOST_TEST(warnings[0].find("1.20.1of4") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_CASE(a_state_with_other_tensors_does_not_get_a_snapshot) {
    keep(1, 2, {10});
    as_ranks(2, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(2, peers));
        std::vector<float> other(4);
        State const state = {NamedTensor::whole("other", DataType::float32, {4}, other.data())};
        must_be(!must(snapshots.load(state, 0)).has_value(), "no snapshot is loaded");
    });
    BOOST_REQUIRE(warnings.size() == 1u);
    BOOST_TEST(warnings[0].find("no tensor 'other'") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_CASE(too_little_memory_ends_it_for_all_ranks_with_a_warning) {
    Model model(0, 1);
    available_bytes = 4 * 300'000;  // each of two ranks needs two times about 50 KB and a page
    BOOST_TEST(keep(1, 2, {10, 20}) == 4);
    must(remove_tree(directory));
    available_bytes = 100'000;
    BOOST_TEST(keep(1, 2, {10, 20}) == 0);
    BOOST_TEST(!path_exists(directory));
    BOOST_REQUIRE(!warnings.empty());
    BOOST_TEST(warnings.size() <= 2u);
    BOOST_TEST(warnings[0].find("not kept in memory any more") != std::string::npos, warnings[0]);
    BOOST_TEST(warnings[0].find("0 MiB are free") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_CASE(a_larger_state_that_finds_no_room_removes_what_was_kept) {
    as_ranks(1, [&](ThreadPeers& peers) {
        MemorySnapshots snapshots(peers, options(1, peers));
        std::vector<float> values(1000);
        auto const keep = [&](std::uint64_t steps) {
            State const state = {
                NamedTensor::whole("values", DataType::float32, {values.size()}, values.data())};
            return must(snapshots.keep(steps, Json::object(), state));
        };
        BOOST_TEST(keep(10));
        available_bytes = 0;
        BOOST_TEST(keep(20));
        values.resize(2000);
        BOOST_TEST(!keep(30));
        BOOST_TEST(snapshots.is_off());
    });
    BOOST_TEST(files().empty());
}

BOOST_AUTO_TEST_CASE(names_that_others_have_taken_are_not_used) {
    auto const place = MemoryPlace{shm.path(), "100", "7.3", "suffix"};
    TemporaryDirectory elsewhere;
    fs::create_directory_symlink(elsewhere.path(), directory);
    auto const made = must(make_memory_directory(place));
    BOOST_TEST(made == fs::path(directory.string() + "-suffix"));
    BOOST_TEST(must(list_directory(elsewhere.path())).empty());
    BOOST_TEST(must(make_memory_directory({shm.path(), "100", "7.3", "other"})) == made);  // of a later run
    fs::remove(directory);
    BOOST_REQUIRE(::mkdir(directory.c_str(), 0755) == 0);
    BOOST_REQUIRE(::chmod(directory.c_str(), 0755) == 0);
    BOOST_TEST(find_memory_directories(place) == std::vector{made}, boost::test_tools::per_element());
    BOOST_TEST(
        must(make_memory_directory({shm.path(), "100", "7.30", ""})).filename().string().ends_with("-7.30"));
    BOOST_TEST(find_memory_directories(place).size() == 1u);
    must(remove_tree(made));
    BOOST_TEST(
        (must_fail(make_memory_directory({shm.path(), "100", "7.3", ""})).code == codes::unsafe_owner));
    auto const all = list_memory_directories(shm.path());
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].job == "100");
}

BOOST_AUTO_TEST_CASE(a_link_in_place_of_a_snapshot_is_not_followed) {
    keep(1, 1, {10});
    TemporaryDirectory elsewhere;
    fs::rename(directory / "1.10.0of1", elsewhere / "file");
    fs::create_symlink(elsewhere / "file", directory / "1.10.0of1");
    BOOST_TEST(load(2, 1) == 0u);
    BOOST_REQUIRE(::unlink((directory / "1.10.0of1").c_str()) == 0);
    fs::create_hard_link(elsewhere / "file", directory / "1.10.0of1");
    BOOST_TEST(load(2, 1) == 0u);  // a file with two names may be changed by the other one
}

BOOST_AUTO_TEST_CASE(names_of_files_are_parsed_strictly) {
    auto const name = MemoryFileName{2, 30, 1, 4};
    BOOST_TEST(to_string(name) == "2.30.1of4");
    BOOST_TEST((parse_memory_file_name("2.30.1of4") == name));
    for (auto const* text :
         {"", "2.30", "2.30.1", "2.30.4of4", "2.30.-1of4", "2.x.1of4", "new-1of4-0", "2.30.1of"})
        BOOST_TEST(!parse_memory_file_name(text), text);
}

BOOST_AUTO_TEST_CASE(the_memory_that_is_left_is_that_of_the_tightest_limit) {
    TemporaryDirectory root;
    auto const write = [&](char const* path, std::string const& text) {
        must(make_directories((root / path).parent_path()));
        must(write_file(root / path, text));
    };
    write("proc/meminfo", "MemTotal:  9 kB\nMemAvailable:     8192 kB\n");
    BOOST_TEST(available_memory_bytes(shm.path(), root.path()) == 8192u * 1024);
    write("proc/self/cgroup", "0::/job_7/step_0\n");
    write("sys/fs/cgroup/job_7/memory.max", "4000000\n");
    write("sys/fs/cgroup/job_7/memory.current", "3000000\n");
    BOOST_TEST(available_memory_bytes(shm.path(), root.path()) == 1'000'000u);
    write("sys/fs/cgroup/job_7/memory.stat", "anon 1\ninactive_file 500000\n");
    BOOST_TEST(available_memory_bytes(shm.path(), root.path()) == 1'500'000u);
    write("sys/fs/cgroup/job_7/step_0/memory.max", "max\n");
    write("sys/fs/cgroup/job_7/step_0/memory.current", "3000000\n");
    BOOST_TEST(available_memory_bytes(shm.path(), root.path()) == 1'500'000u);
    write("proc/self/cgroup", "4:memory:/slurm/job_7\n3:cpu:/\n");
    write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "2000\n");
    write("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "3000\n");
    BOOST_TEST(available_memory_bytes(shm.path(), root.path()) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
