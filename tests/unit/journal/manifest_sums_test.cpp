#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::journal;

namespace manifest_sums_test {

using Sums = std::vector<std::string>;

struct Fixture {
    TemporaryDirectory directory;
    RootLayout root{directory.path()};
    std::string uuid = make_uuid();

    ExperimentLayout experiment(std::uint32_t id) const { return {root, ExperimentId{id}}; }
    void record(std::uint32_t id, std::uint32_t trial, std::uint32_t run, std::string const& checkpoint,
                std::string const& sum) const {
        auto const layout = experiment(id).trial(trial).run(run);
        must(make_directories(layout.path()));
        must(make_directories(experiment(id).events()));
        auto writer = must(JournalWriter::open(layout.chief_journal()));
        must(writer.append(
            CheckpointCommitted{UtcTime{1}, checkpoint, 100, Json::object(), Json::object(), {}, sum}));
    }
};

}  // namespace manifest_sums_test

BOOST_FIXTURE_TEST_SUITE(manifest_sums_test, Fixture)

BOOST_AUTO_TEST_CASE(a_sum_is_found_in_the_run_that_the_manifest_names_and_in_others) {
    record(1, 0, 0, uuid, "a");
    record(2, 3, 1, make_uuid(), "b");
    ManifestSums const all(root, std::nullopt);
    BOOST_TEST(must(all.find(uuid, "1.0.0")) == Sums{"a"}, boost::test_tools::per_element());
    // The manifest that someone puts in its place may name any run.
    for (auto const* run : {"", "2.3.1", "9.9.9", "no run", "../1.0.0"})
        BOOST_TEST(must(all.find(uuid, run)) == Sums{"a"}, boost::test_tools::per_element());
    ManifestSums const of_other(root, ExperimentId{2});
    BOOST_TEST(must(of_other.find(uuid, "")).empty());
    BOOST_TEST(must(of_other.find(uuid, "1.0.0")) == Sums{"a"}, boost::test_tools::per_element());
    BOOST_TEST(must(all.find(make_uuid(), "1.0.0")).empty());
}

BOOST_AUTO_TEST_CASE(a_record_of_an_older_program_gives_no_sum) {
    record(1, 0, 0, uuid, "");
    BOOST_TEST(must(ManifestSums(root, std::nullopt).find(uuid, "1.0.0")).empty());
}

BOOST_AUTO_TEST_CASE(journals_that_grow_are_read_again) {
    record(1, 0, 0, make_uuid(), "a");
    ManifestSums const sums(root, ExperimentId{1});
    BOOST_TEST(must(sums.find(uuid, "1.0.0")).empty());
    record(1, 0, 0, uuid, "b");
    BOOST_TEST(must(sums.find(uuid, "1.0.0")) == Sums{"b"}, boost::test_tools::per_element());
    BOOST_TEST(must(sums.find(uuid, "1.0.7")) == Sums{"b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(removed_files_change_the_sum_by_an_event) {
    record(1, 0, 0, uuid, "a");
    must(append_event(experiment(1).events(), {std::string(checkpoint_changed_event), UtcTime{2}, "me@here",
                                               Json{{"uuid", uuid}, {"manifest_sha256", "c"}}}));
    must(append_event(experiment(1).events(), {std::string(checkpoint_changed_event), UtcTime{3}, "me@here",
                                               Json{{"uuid", make_uuid()}, {"manifest_sha256", "d"}}}));
    BOOST_TEST(must(ManifestSums(root, std::nullopt).find(uuid, "1.0.0")) == (Sums{"a", "c"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whole_records_of_a_damaged_journal_count) {
    record(1, 0, 0, uuid, "a");
    record(1, 0, 0, make_uuid(), "b");
    record(1, 0, 0, make_uuid(), "c");
    auto const path = experiment(1).trial(0).run(0).chief_journal();
    auto bytes = must(read_file(path));
    bytes[bytes.size() / 2] ^= 1;  // in the second record
    must(write_file(path, bytes));
    BOOST_TEST(must(ManifestSums(root, std::nullopt).find(uuid, "1.0.0")) == Sums{"a"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
