// What readers of a LiveIndex get while its index cannot be written, and from journals that contradict
// themselves.
#include <det/foundation/files.hpp>
#include <det/journal/frame.hpp>
#include <det/tracker/history/dump.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/live_index.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "example_root.hpp"
#include "file_size_limit.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::ingest;

namespace ingest_faults_test {

/// A file system in memory of this size. Only root may mount one.
class SmallDisk {
public:
    static constexpr std::size_t size_bytes = std::size_t{4} << 20;

    explicit SmallDisk(std::filesystem::path path) : path_(std::move(path)) {
        must(make_directories(path_));
        auto const options = "size=" + std::to_string(size_bytes);
        is_mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
    }
    ~SmallDisk() {
        if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(SmallDisk const&) = delete;

    /// Prints why the test is skipped if it is not.
    bool is_mounted() const {
        if (!is_mounted_) BOOST_TEST_MESSAGE("SKIPPED: only root may mount a small file system");
        return is_mounted_;
    }
    void fill() const {
        UniqueFd const file(::open((path_ / "other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        std::string const bytes(4096, 'x');
        while (::write(file.get(), bytes.data(), bytes.size()) > 0) {
        }
    }
    void make_room() const { BOOST_REQUIRE(::unlink((path_ / "other").c_str()) == 0); }
    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
    bool is_mounted_ = false;
};

std::string frame_of(EncodedRecord const& record) {
    return journal::render_frame(static_cast<std::uint16_t>(record.type), record.payload);
}

struct Fixture {
    TemporaryDirectory directory;
    ExampleRoot example{directory.path() / "root"};
    history::JournalHistory journals{example.root};

    LiveIndex::Settings settings(std::filesystem::path const& index) const {
        return {.path = index,
                .root = example.root,
                .age_max = std::chrono::milliseconds(0),
                .wait_timeout = std::chrono::seconds(30)};
    }
    void report(std::uint32_t id, std::size_t reports) {
        example.run_of({{id}, 0}).report(reports, 3, example.random());
    }
    void check_same(history::History& history, std::uint32_t id) {
        BOOST_TEST((history::dump_experiment(history, {id}) == history::dump_experiment(journals, {id})));
        auto const list = must(history.list_summaries({}));
        BOOST_TEST(list.experiments.size() == must(journals.list_summaries({})).experiments.size());
    }
};

}  // namespace ingest_faults_test

BOOST_FIXTURE_TEST_SUITE(ingest_faults_test, Fixture)

BOOST_AUTO_TEST_CASE(while_the_index_can_not_grow_the_answers_come_from_the_journals) {
    auto const live = must(LiveIndex::open(settings(directory.path() / "index")));
    example.create(1, 1);
    example.step({{1}, 0});
    check_same(*live, 1);
    BOOST_TEST(!live->last_error());
    report(1, 20'000);
    {
        FileSizeLimit const limit(std::uintmax_t{100} << 10);
        for (int repetition = 0; repetition < 3; ++repetition) check_same(*live, 1);
        BOOST_REQUIRE(live->last_error());
        BOOST_TEST(live->last_error()->message.find((directory.path() / "index").string()) !=
                   std::string::npos);
        BOOST_TEST(live->last_error()->hint.find("room") != std::string::npos);
    }
    check_same(*live, 1);
    BOOST_TEST(!live->last_error());
    report(1, 10);
    check_same(*live, 1);
}

BOOST_AUTO_TEST_CASE(an_error_lasts_until_all_that_was_not_written_is_in_the_index) {
    index::Database writer =
        must(index::open_index(directory.path() / "index", example.root.path(), index::Access::write));
    Ingester ingester(std::move(writer), example.root);
    for (std::uint32_t id : {1, 2}) {
        example.create(id, 1);
        example.step({{id}, 0});
    }
    TimePoint const now{};
    must(ingester.poll(now));
    report(1, 20'000);
    {
        FileSizeLimit const limit(std::uintmax_t{100} << 10);
        must_fail(ingester.refresh({1}, now));
        BOOST_TEST(ingester.is_behind());
        must(ingester.refresh({2}, now));  // this experiment has nothing new
        BOOST_TEST(ingester.is_behind());
    }
    must(ingester.poll(now));  // at once, though the experiment is not due
    BOOST_TEST(!ingester.is_behind());
    index::IndexHistory indexed(
        must(index::open_index(directory.path() / "index", example.root.path(), index::Access::read)),
        example.root.path());
    check_same(indexed, 1);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_reported_and_survived) {
    SmallDisk const disk(directory.path() / "disk");
    if (!disk.is_mounted()) return;
    auto live = must(LiveIndex::open(settings(disk.path() / "index")));
    example.create(1, 1);
    example.step({{1}, 0});
    check_same(*live, 1);
    disk.fill();
    report(1, 20'000);
    check_same(*live, 1);
    BOOST_REQUIRE(live->last_error());
    BOOST_TEST(live->last_error()->message.find("full") != std::string::npos);
    disk.make_room();
    check_same(*live, 1);
    BOOST_TEST(!live->last_error());
    disk.fill();
    live.reset();
    disk.make_room();
    check_same(*must(LiveIndex::open(settings(disk.path() / "index"))), 1);
}

BOOST_AUTO_TEST_CASE(a_read_only_disk_is_reported_and_survived) {
    SmallDisk const disk(directory.path() / "disk");
    if (!disk.is_mounted()) return;
    auto const live = must(LiveIndex::open(settings(disk.path() / "index")));
    example.create(1, 1);
    example.step({{1}, 0});
    check_same(*live, 1);
    // MS_REMOUNT fails while a file is open for writing; a second mount over the directory hides the index.
    BOOST_REQUIRE(::mount("none", disk.path().c_str(), "tmpfs", MS_RDONLY, "size=64k") == 0);
    auto const error = must_fail(LiveIndex::open(settings(disk.path() / "index")));
    BOOST_TEST((error.code == codes::file_system));
    BOOST_TEST(error.message.find((disk.path() / "index").string()) != std::string::npos);
    BOOST_TEST(error.hint.find("writable") != std::string::npos);
    BOOST_REQUIRE(::umount(disk.path().c_str()) == 0);
    report(1, 100);
    check_same(*live, 1);
}

BOOST_AUTO_TEST_CASE(a_place_where_nothing_can_be_created_is_an_error) {
    auto const error = must_fail(LiveIndex::open(settings("/proc/index")));
    BOOST_TEST(error.message.find("/proc/index") != std::string::npos);
    BOOST_TEST(!error.hint.empty());
}

BOOST_AUTO_TEST_CASE(frames_of_two_chiefs_in_one_journal_are_read_alike) {
    example.create(1, 1);
    example.step({{1}, 0});
    auto const path = example.run_of({{1}, 0}).layout().chief_journal();
    auto const live = must(LiveIndex::open(settings(directory.path() / "index")));
    // Both number their schemas from 0. Each frame is written whole, in turns.
    std::array<MetricFrameWriter, 2> writers;
    std::array<std::string, 2> const names{"loss", "accuracy"};
    auto bytes = must(read_file(path));
    for (int turn = 0; turn < 40; ++turn) {
        auto const chief = static_cast<std::size_t>(turn % 2);
        for (int i = 0; i < 50; ++i) {
            auto const step = static_cast<std::uint64_t>(50 * (turn / 2) + i);
            Metric const metric{names[chief], static_cast<double>(step) + 0.5 * static_cast<double>(chief)};
            writers[chief].add(UtcTime{static_cast<std::int64_t>(1000 * step)}, "training", step,
                               {&metric, 1});
        }
        for (auto const& record : writers[chief].take()) bytes += frame_of(record);
        must(write_file(path, bytes));
        check_same(*live, 1);
    }
    must(rebuild_index(directory.path() / "other", example.root));
    index::IndexHistory rebuilt(
        must(index::open_index(directory.path() / "other", example.root.path(), index::Access::read)),
        example.root.path());
    check_same(rebuilt, 1);
    check_same(*live, 1);
}

BOOST_AUTO_TEST_CASE(two_supervisors_in_one_life_are_read_alike) {
    example.create(1, 1);
    example.step({{1}, 0});
    auto const path = example.run_of({{1}, 0}).layout().supervisor_journal();
    auto const live = must(LiveIndex::open(settings(directory.path() / "index")));
    check_same(*live, 1);
    RunStarted other;
    other.time = UtcTime{7};
    other.job = "4712_0";
    other.steps_completed = 10;
    // Once the run has ended for good, its files are not read again.
    for (Record const& record :
         {Record(other), Record(RunEnded{UtcTime{9}, Cause::preempted, NextAction::requeue, 1, "the other"}),
          Record(other), Record(RunEnded{UtcTime{8}, Cause::finished, NextAction::stop, 0, "the first"})}) {
        auto const encoded = encode_record(record);
        must(write_file(path, must(read_file(path)) + frame_of(encoded)));
        check_same(*live, 1);
    }
}

BOOST_AUTO_TEST_CASE(times_that_jump_are_kept_as_they_are) {
    example.create(1, 1);
    example.step({{1}, 0});
    auto const live = must(LiveIndex::open(settings(directory.path() / "index")));
    auto constexpr year_us = std::int64_t{365} * 86'400'000'000;
    MetricFrameWriter frames;
    std::uint64_t step = 0;
    for (auto const time :
         {std::int64_t{50} * year_us, std::int64_t{50} * year_us - 3'600'000'000, std::int64_t{0}, -year_us,
          std::int64_t{400} * year_us, std::numeric_limits<std::int64_t>::max(),
          std::numeric_limits<std::int64_t>::min(), std::int64_t{51} * year_us}) {
        Metric const loss{"loss", static_cast<double>(++step)};
        frames.add(UtcTime{time}, "training", step, {&loss, 1});
        for (auto const& record : frames.take()) {
            auto const path = example.run_of({{1}, 0}).layout().chief_journal();
            must(write_file(path, must(read_file(path)) + frame_of(record)));
        }
        check_same(*live, 1);
        for (auto const axis : {history::Axis::steps, history::Axis::time}) {
            history::CurveQuery const query{"training", "loss", 3, axis, {}, {}, true};
            auto const found = must(live->load_curves({{1}, 0}, query));
            auto const expected = must(journals.load_curves({{1}, 0}, query));
            BOOST_REQUIRE(found.size() == 1u);
            BOOST_TEST(found[0].steps == expected[0].steps, boost::test_tools::per_element());
            BOOST_TEST((found[0].times == expected[0].times));
        }
    }
    // The run ends before it began.
    example.run_of({{1}, 0}).end(Cause::finished, NextAction::stop);
    check_same(*live, 1);
}

BOOST_AUTO_TEST_SUITE_END()
