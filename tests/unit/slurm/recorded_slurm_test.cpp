// The contract of SlurmClient, checked with recorded output of a real Slurm's commands
// (tests/support/record-slurm).
#include <det/slurm/command_client.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_process_runner.hpp"
#include "slurm_conformance.hpp"
#include "slurm_readings.hpp"
#include "slurm_recording.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::slurm;

namespace recorded_slurm {

std::filesystem::path recordings_of(std::string const& release) {
    return det::test::source_path("tests/support/slurm-recordings/" + release);
}

/// squeue's recorded output after a modification.
class ChangedRunner final : public ProcessRunner {
public:
    explicit ChangedRunner(std::function<void(std::string&)> change) : change_(std::move(change)) {}
    Result<ProcessOutput> run(Command const& command) override {
        DET_TRY_ASSIGN(auto output, recorded_.run(command));
        change_(output.out);
        return output;
    }

private:
    RecordedRunner recorded_{recordings_of("22.05")};
    std::function<void(std::string&)> change_;
};

bool is_understood(std::function<void(std::string&)> change) {
    ChangedRunner runner(std::move(change));
    CommandClient slurm(runner, Environment());
    auto const jobs = slurm.query_queue({});
    if (!jobs) BOOST_TEST((jobs.error().code == codes::slurm_output));
    return jobs.has_value();
}

}  // namespace recorded_slurm

BOOST_AUTO_TEST_SUITE(recorded_slurm)

BOOST_DATA_TEST_CASE(recorded_output_is_read_completely,
                     boost::unit_test::data::make({"22.05", "24.11", "26.05"}), release) {
    RecordedRunner runner(recordings_of(release));
    CommandClient slurm(runner, Environment());
    check_readings(readings_of(slurm), must(read_file(recordings_of(release) / "jobs.txt")));
}

BOOST_AUTO_TEST_CASE(unexpected_columns_are_refused) {
    BOOST_TEST(is_understood([](std::string&) {}));
    BOOST_TEST(is_understood([](std::string& text) { text.clear(); }));
    BOOST_TEST(!is_understood([](std::string& text) { text = "garbage\n"; }));
    BOOST_TEST(!is_understood([](std::string& text) { text.pop_back(); }));
    BOOST_TEST(!is_understood([](std::string& text) { text.resize(text.size() / 2); }));
    BOOST_TEST(!is_understood([](std::string& text) { text.insert(text.find('|'), "|"); }));
    BOOST_TEST(!is_understood([](std::string& text) { text.insert(0, "squeue: talk\n"); }));
}

BOOST_AUTO_TEST_SUITE_END()
