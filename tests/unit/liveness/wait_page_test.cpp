#include <det/foundation/files.hpp>
#include <det/liveness/wait_recorder.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::liveness;
using namespace std::chrono_literals;

namespace wait_page_test {

using Time = WaitRecorder::Clock::time_point;
// In the past on every machine, also if it was started less than an hour ago.
Time const start = WaitRecorder::Clock::now() - 1h;

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path const path = directory / "waits";

    std::shared_ptr<WaitRecorder> join(int local_rank, int rank) const {
        return std::make_shared<WaitRecorder>(must(WaitPage::open_for_writing(path, local_rank)), local_rank,
                                              rank);
    }
    std::vector<RankWaits> read() const { return must(WaitPage::open_for_reading(path)).read(); }
};

std::uint64_t waited_ns(RankWaits const& waits, WaitOperation operation) {
    return waits.waited_ns[static_cast<std::size_t>(operation)];
}

std::uint64_t waited_ns_for(RankWaits const& waits, int rank) {
    std::uint64_t sum = 0;
    for (auto const& awaited : waits.waited_for) sum += awaited.rank == rank ? awaited.ns : 0;
    return sum;
}

}  // namespace wait_page_test

BOOST_FIXTURE_TEST_SUITE(wait_page_test, Fixture)

BOOST_AUTO_TEST_CASE(there_is_no_page_until_the_first_rank_has_made_it) {
    BOOST_TEST((must_fail(WaitPage::open_for_reading(path)).code == codes::no_such_file));
    auto const recorder = join(0, 0);
    BOOST_TEST(read().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_size_or_content_is_no_page) {
    must(write_file(path, "something else"));
    BOOST_TEST((must_fail(WaitPage::open_for_reading(path)).code == codes::damaged));
    BOOST_TEST((must_fail(WaitPage::open_for_writing(path, 0)).code == codes::damaged));
    BOOST_REQUIRE(std::filesystem::remove(path));
    join(0, 0);
    auto const size = std::filesystem::file_size(path);
    must(write_file(path, std::string(size, 'x')));
    BOOST_TEST((must_fail(WaitPage::open_for_reading(path)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(each_rank_has_the_slot_of_its_local_rank) {
    auto const last = join(WaitPage::slots_max - 1, 41);
    auto const first = join(0, 40);
    first->begin_operation(WaitOperation::barrier);
    first->begin_operation(WaitOperation::allreduce);
    last->begin_operation(WaitOperation::barrier);
    auto const ranks = read();
    BOOST_REQUIRE(ranks.size() == 2u);
    BOOST_TEST(ranks[0].rank == 40);
    BOOST_TEST(ranks[0].operations_begun == 2u);
    BOOST_TEST(ranks[1].rank == 41);
    BOOST_TEST(ranks[1].operations_begun == 1u);
}

BOOST_AUTO_TEST_CASE(the_space_of_a_slot_is_allocated_when_its_rank_opens_the_page_and_no_other) {
    constexpr std::uint64_t block_bytes = 512;
    auto const allocated_bytes = [this] {
        struct stat info {};
        BOOST_REQUIRE(::stat(path.c_str(), &info) == 0);
        return static_cast<std::uint64_t>(info.st_blocks) * block_bytes;
    };
    auto const first = must(WaitPage::open_for_writing(path, 0));
    auto const of_one = allocated_bytes();
    BOOST_TEST(of_one >= sizeof(WaitPage::Slot));
    BOOST_TEST(of_one < WaitPage::slots_max * sizeof(WaitPage::Slot));
    auto const last = must(WaitPage::open_for_writing(path, WaitPage::slots_max - 1));
    BOOST_TEST(allocated_bytes() > of_one);
}

BOOST_AUTO_TEST_CASE(a_process_that_follows_continues_the_numbers) {
    join(0, 3)->begin_operation(WaitOperation::barrier);
    join(0, 3)->begin_operation(WaitOperation::barrier);
    BOOST_TEST(read().at(0).operations_begun == 2u);
}

BOOST_AUTO_TEST_CASE(the_time_of_a_wait_goes_to_the_rank_that_was_awaited_at_that_time) {
    auto const recorder = join(0, 0);
    {
        RecordedWait wait(recorder.get());
        wait.waits_for(WaitOperation::allreduce, 1, start, start + 10ms);
        wait.waits_for(WaitOperation::allreduce, 2, start, start + 30ms);
        wait.waits_for(WaitOperation::allreduce, 2, start, start + 70ms);
        auto const current = read().at(0);  // during the wait
        BOOST_TEST(waited_ns(current, WaitOperation::allreduce) == 70'000'000u);
        BOOST_TEST(waited_ns_for(current, 1) == 30'000'000u);
        BOOST_TEST(waited_ns_for(current, 2) == 40'000'000u);
        BOOST_TEST(current.waits_ended == 0u);
    }
    auto const ended = read().at(0);
    BOOST_TEST(ended.waits_ended == 1u);
    BOOST_TEST(waited_ns_for(ended, 2) > 40'000'000u);  // until the end
    BOOST_TEST(waited_ns(ended, WaitOperation::barrier) == 0u);
}

BOOST_AUTO_TEST_CASE(a_wait_of_the_spin_phase_only_is_not_recorded) {
    auto const recorder = join(0, 0);
    { RecordedWait wait(recorder.get()); }
    BOOST_TEST(read().at(0).waits_ended == 0u);
    RecordedWait without_page(nullptr);
    BOOST_TEST(!without_page.is_wanted());
    without_page.waits_for(WaitOperation::barrier, 1, start, start + 1s);  // has no effect
}

BOOST_AUTO_TEST_CASE(a_time_in_which_this_process_was_stopped_counts_as_a_second) {
    auto const recorder = join(0, 0);
    recorder->add(WaitOperation::barrier, 1, WaitRecorder::slice_max);
    BOOST_TEST(waited_ns_for(read().at(0), 1) == 1'000'000'000u);
    recorder->add(WaitOperation::barrier, 1, 1h);
    BOOST_TEST(waited_ns_for(read().at(0), 1) == 2'000'000'000u);
    recorder->add(WaitOperation::barrier, 1, -1h);
    BOOST_TEST(waited_ns_for(read().at(0), 1) == 2'000'000'000u);
}

BOOST_AUTO_TEST_CASE(of_many_awaited_ranks_the_longest_awaited_ones_stay) {
    auto const recorder = join(0, 0);
    constexpr int entries = 8;
    for (int rank = 1; rank <= entries; ++rank) recorder->add(WaitOperation::barrier, rank, rank * 10ms);
    BOOST_TEST(read().at(0).waited_for.size() == 8u);
    recorder->add(WaitOperation::barrier, 100, 5ms);  // replaces rank 1
    auto const waits = read().at(0);
    BOOST_TEST(waits.waited_for.size() == 8u);
    BOOST_TEST(waited_ns_for(waits, 1) == 0u);
    BOOST_TEST(waited_ns_for(waits, 2) == 20'000'000u);
    BOOST_TEST(waited_ns_for(waits, 100) == 5'000'000u);
    BOOST_TEST(waited_ns(waits, WaitOperation::barrier) == 365'000'000u);
}

BOOST_AUTO_TEST_CASE(operations_have_names) {
    BOOST_TEST(to_string(WaitOperation::barrier) == "barrier");
    BOOST_TEST(to_string(WaitOperation::control) == "control");
    BOOST_TEST(to_string(static_cast<WaitOperation>(wait_operation_count)) == "unknown");
}

BOOST_AUTO_TEST_SUITE_END()
