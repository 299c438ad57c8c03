#include <det/foundation/files.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/tail.hpp>
#include <det/journal/writer.hpp>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::journal;

namespace tail_test {

Record progress(double value) { return ProgressReported{UtcTime{1}, value}; }

std::vector<double> read(JournalTail& tail) {
    std::vector<double> values;
    for (auto const& record : must(tail.read_new()))
        values.push_back(std::get<ProgressReported>(record).progress);
    return values;
}

using Values = std::vector<double>;

}  // namespace tail_test

BOOST_AUTO_TEST_SUITE(tail_test)

BOOST_AUTO_TEST_CASE(each_record_is_read_once_after_it_was_appended) {
    TemporaryDirectory directory;
    JournalTail tail(directory / "journal");
    BOOST_TEST((read(tail) == Values{}));
    auto writer = must(JournalWriter::create(directory / "journal"));
    BOOST_TEST((read(tail) == Values{}));
    must(writer.append(progress(0.25)));
    must(writer.append(progress(0.5)));
    BOOST_TEST((read(tail) == Values{0.25, 0.5}));
    BOOST_TEST((read(tail) == Values{}));
    must(writer.append(progress(0.75)));
    BOOST_TEST((read(tail) == Values{0.75}));
}

BOOST_AUTO_TEST_CASE(a_record_that_is_being_written_is_read_once_it_is_complete) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    auto const encoded = encode_record(progress(0.25));
    auto const bytes =
        render_header() + render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    JournalTail tail(path);
    std::ofstream file(path, std::ios::binary);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        BOOST_TEST((read(tail) == Values{}), size);
        file.put(bytes[size]).flush();
    }
    BOOST_TEST((read(tail) == Values{0.25}));
}

BOOST_AUTO_TEST_CASE(the_file_stays_open_until_it_is_closed_and_is_read_on_at_the_same_place) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    auto writer = must(JournalWriter::create(path));
    must(writer.append(progress(0.25)));
    JournalTail tail(path);
    BOOST_TEST((read(tail) == Values{0.25}));
    // As long as the file is open, its name is not looked up.
    must(writer.append(progress(0.5)));
    std::filesystem::rename(path, directory / "elsewhere");
    BOOST_TEST((read(tail) == Values{0.5}));
    must(writer.append(progress(0.75)));
    tail.close_file();
    BOOST_TEST((read(tail) == Values{}));  // like a journal that does not exist
    std::filesystem::rename(directory / "elsewhere", path);
    BOOST_TEST((read(tail) == Values{0.75}));
}

BOOST_AUTO_TEST_CASE(records_of_unknown_types_are_skipped_and_damage_is_an_error) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    auto const encoded = encode_record(progress(0.25));
    auto const frame = render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    auto broken = frame;
    broken.back() = 'x';
    must(write_file(path, render_header() + render_frame(999, "?") + frame + broken + frame));
    JournalTail tail(path);
    BOOST_TEST((read(tail) == Values{0.25}));
    BOOST_TEST((must_fail(tail.read_new()).code == codes::journal_damaged));
    must(write_file(path, "no journal, but long enough"));
    JournalTail other(path);
    must_fail(other.read_new());
}

BOOST_AUTO_TEST_CASE(records_before_and_after_one_that_cannot_be_decoded_are_read) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    auto const encoded = encode_record(progress(0.25));
    auto const type = static_cast<std::uint16_t>(encoded.type);
    auto const frame = render_frame(type, encoded.payload);
    must(write_file(path, render_header() + frame + render_frame(type, "not JSON") + frame + frame));
    JournalTail tail(path);
    BOOST_TEST((read(tail) == Values{0.25}));
    must_fail(tail.read_new());
    BOOST_TEST((read(tail) == Values{0.25, 0.25}));
    BOOST_TEST((read(tail) == Values{}));
}

BOOST_AUTO_TEST_SUITE_END()
