// How long a run has used the GPUs or processors of a node too little.
#include <det/foundation/files.hpp>
#include <det/telemetry/system/usage_meter.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::telemetry;
using namespace std::chrono_literals;

namespace usage_meter_test {

constexpr long ticks_per_s = 100;
UsageMeter::TimePoint const start{};

/// A meter that gets a sample in each interval, of processes that use `percent` of a processor.
struct Fixture {
    UsageMeter meter{10s, 5, ticks_per_s};
    UsageMeter::TimePoint now = start;
    double ticks = 0;

    void run_for(std::chrono::milliseconds time, double percent, bool is_stopped = false) {
        for (auto const end = now + time; now < end; now += meter.interval()) {
            ticks += percent / 100 * ticks_per_s * std::chrono::duration<double>(meter.interval()).count();
            meter.add(now, {static_cast<std::uint64_t>(ticks), is_stopped}, std::nullopt);
        }
    }
    void use_gpus(std::chrono::milliseconds time, std::vector<GpuReading> const& gpus) {
        for (auto const end = now + time; now < end; now += meter.interval())
            meter.add(now, {}, std::span<GpuReading const>(gpus));
    }
    auto idle() const { return meter.state().idle; }
};

std::string stat_line(int pid, std::string const& name, char state, int parent, int user, int start_tick) {
    return fmt::format("{} ({}) {} {} 1 1 0 -1 4194304 9 0 0 0 {} 20 300 4000 20 0 1 0 {} 1 1\n", pid, name,
                       state, parent, user, start_tick);
}

}  // namespace usage_meter_test

BOOST_FIXTURE_TEST_SUITE(usage_meter, usage_meter_test::Fixture)

using namespace usage_meter_test;

BOOST_AUTO_TEST_CASE(a_run_that_sleeps_is_idle_from_its_first_window_on) {
    run_for(31s, 0);
    BOOST_TEST((idle() == 30s));
    BOOST_TEST(meter.state().windows == 3u);
    BOOST_TEST(meter.state().percent.value() == 0);
}

BOOST_AUTO_TEST_CASE(five_percent_of_a_processor_are_work_and_less_are_not) {
    run_for(31s, 6);
    BOOST_TEST((idle() == 0s));
    run_for(30s, 4);
    BOOST_TEST((idle() >= 20s));
    run_for(20s, 100);
    BOOST_TEST((idle() == 0s));
}

BOOST_AUTO_TEST_CASE(of_several_gpus_the_one_that_works_most_counts) {
    use_gpus(21s, {{"GPU-1", 0, 0}, {"GPU-2", 4, 0}});
    BOOST_TEST((idle() == 20s));
    BOOST_TEST(meter.state().percent.value() == 4);
    use_gpus(20s, {{"GPU-1", 50, 0}, {"GPU-2", 0, 0}});
    BOOST_TEST((idle() == 0s));
}

BOOST_AUTO_TEST_CASE(gpus_that_cannot_be_read_are_not_idle) {
    use_gpus(31s, {});
    BOOST_TEST(meter.state().windows == 3u);
    BOOST_TEST(!meter.state().percent);
    BOOST_TEST((idle() == 0s));
}

BOOST_AUTO_TEST_CASE(a_gpu_that_can_be_read_at_times_only_is_not_idle) {
    std::vector<GpuReading> const both{{"GPU-1", 0, 0}, {"GPU-2", 0, 0}}, one{{"GPU-1", 0, 0}};
    for (int i = 0; i < 30; ++i) use_gpus(meter.interval(), i % 3 == 0 ? one : both);
    BOOST_TEST(!meter.state().percent);
    BOOST_TEST((idle() == 0s));
}

BOOST_AUTO_TEST_CASE(a_job_that_was_suspended_was_not_idle_meanwhile) {
    run_for(31s, 0);
    now += 1h;
    run_for(11s, 0);
    BOOST_TEST((idle() == 10s));
}

BOOST_AUTO_TEST_CASE(a_program_in_a_debugger_is_not_idle) {
    run_for(31s, 0);
    run_for(10s, 0, true);
    BOOST_TEST((idle() == 0s));
    run_for(10s, 0);
    BOOST_TEST((idle() == 10s));
}

BOOST_AUTO_TEST_CASE(the_sum_of_processes_may_fall) {
    run_for(11s, 0);
    ticks = 0;
    run_for(10s, 0);
    BOOST_TEST((idle() == 20s));
}

BOOST_AUTO_TEST_CASE(a_process_is_read_whatever_its_name_is) {
    auto const times = parse_process_times(stat_line(7, "a) R (b ", 'S', 3, 1, 99)).value();
    BOOST_TEST((times == ProcessTimes{7, 3, "a) R (b ", 'S', 1 + 20 + 300 + 4000, 99}));
    for (auto const* text : {"", "7", "7 (x", "7 (x) S", ")7( S 1", "x (x) S 1 2 3"})
        BOOST_TEST(!parse_process_times(text), text);
}

BOOST_AUTO_TEST_CASE(only_processes_of_the_run_count_and_none_of_det_submit) {
    std::vector<ProcessTimes> const processes{
        {1, 0, "systemd", 'S', 1000, 1}, {2, 1, "det-wrap-rank", 'S', 500, 2}, {3, 2, "python3", 'R', 70, 3},
        {4, 3, "worker", 't', 5, 4},     {5, 1, "other", 'T', 900, 5},         {6, 7, "a cycle", 'R', 1, 6},
        {7, 6, "a cycle", 'R', 1, 7}};
    BOOST_TEST((RunCpuSum().add(processes, {2}) == RunCpuTime{75, true}));
    BOOST_TEST((RunCpuSum().add(processes, {3, 6}) == RunCpuTime{77, true}));
    BOOST_TEST((RunCpuSum().add(processes, {}) == RunCpuTime{0, false}));
}

BOOST_AUTO_TEST_CASE(a_run_of_short_processes_that_nobody_awaits_works) {
    // A loop of "srun ./task": each task runs for 4 s, has slurmstepd above it, and uses a whole processor.
    RunCpuSum sum;
    for (int second = 0; second < 60; ++second, now += 1s) {
        std::vector<ProcessTimes> processes{{1, 0, "slurmstepd", 'S', 9, 1}, {2, 1, "bash", 'S', 3, 2}};
        auto const task = second / 4, age = second % 4;
        auto const number = static_cast<pid_t>(100 + task % 2);  // numbers are used again
        processes.push_back({number, 1, "task", 'R', static_cast<std::uint64_t>(age * ticks_per_s),
                             static_cast<std::uint64_t>(10 + task)});
        meter.add(now, sum.add(processes, {2, number}), std::nullopt);
    }
    BOOST_TEST(meter.state().windows >= 5u);
    BOOST_TEST(meter.state().percent.value() >= 70);
    BOOST_TEST((idle() == 0s));
}

BOOST_AUTO_TEST_CASE(a_process_belongs_to_the_run_by_its_environment) {
    TemporaryDirectory proc;
    auto const add = [&](int pid, std::string const& stat, std::string const& environment) {
        auto const directory = proc / std::to_string(pid);
        std::filesystem::create_directories(directory);
        must(write_file(directory / "stat", stat));
        must(write_file(directory / "environ", environment));
    };
    using namespace std::string_literals;
    add(10, stat_line(10, "rank", 'S', 1, 0, 5), "A=1\0DET_RUN_KEY=7.0.0\0"s);
    add(11, stat_line(11, "child", 'S', 10, 0, 6), "");
    add(12, stat_line(12, "other", 'S', 1, 0, 7), "DET_RUN_KEY=7.0.0-and-more\0"s);
    RunProcesses run(proc.path(), "DET_RUN_KEY=7.0.0");
    BOOST_TEST(run.read().ticks == 2u * 4320u);
    // A process that is known stays one of the run, and its number may go to another process.
    add(10, stat_line(10, "rank", 'T', 1, 80, 5), "");
    BOOST_TEST((run.read() == RunCpuTime{4400 + 4320, true}));
    add(10, stat_line(10, "another", 'S', 1, 80, 8), "");
    BOOST_TEST((run.read() == RunCpuTime{4400 + 4320, false}));            // what it had used stays
    add(12, stat_line(12, "rank", 'S', 1, 0, 7), "DET_RUN_KEY=7.0.0\0"s);  // it has started a program
    BOOST_TEST(run.read().ticks == 4400u + 2 * 4320);
}

BOOST_AUTO_TEST_SUITE_END()
