// Tests the C interface with callers in C (cases.h). Each rank is a process, as in a run.
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <thread>

#include "../collectives/device/fake_devices.hpp"
#include "capi_support.hpp"
#include "cases.h"
#include "fake_device_memory.hpp"
#include "handle_types.hpp"
#include "rank_processes.hpp"

using namespace det;

namespace capi_test {

using Case = char const* (*)();

Status status_of(char const* complaint) {
    if (complaint == nullptr) return Ok{};
    return Error{codes::internal, complaint};
}

struct Fixture : NodeRunFixture {
    /// Runs the case in processes, the ranks of one node of the run.
    void run_as_ranks(int ranks, Case body) {
        check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
            for (auto const& line : environment_of(rank.value, ranks).to_list()) {
                auto const name_end = line.find('=');
                ::setenv(line.substr(0, name_end).c_str(), line.c_str() + name_end + 1, 1);
            }
            return status_of(body());
        }));
    }
    /// Runs the body in threads, ranks with fake devices.
    void run_with_devices(collectives::device::FakeDevices& devices, int ranks,
                          std::function<char const*(det_context&, int rank)> const& body) {
        std::vector<Status> results(static_cast<std::size_t>(ranks), Status(Ok{}));
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                results[static_cast<std::size_t>(rank)] = [&]() -> Status {
                    DET_TRY_ASSIGN(auto core,
                                   core::Context::init(
                                       {.environment = environment_of(rank, ranks),
                                        .devices = core::Devices::nccl,
                                        .device_backend = std::make_shared<collectives::device::FakeBackend>(
                                            devices, rank)}));
                    det_context context;
                    context.core = std::make_shared<core::Context>(std::move(core));
                    return status_of(body(context, rank));
                }();
            });
        }
        threads.clear();
        for (auto const& result : results) must(result);
    }
    /// Makes the run one of an experiment with this searcher, whose epochs have 10 batches.
    void search_with(std::string const& name, Json const& searcher) const {
        ExperimentSpec spec;
        spec.id = {7};
        spec.searcher = {name, "loss", true, searcher};
        spec.config = Json{{"records_per_epoch", 320}};
        must(write_file(info / info_files::spec, render_spec(spec)));
        TrialInfo trial_info;
        trial_info.trial = {{7}, 3};
        trial_info.trial_run_id = 2;
        trial_info.hparams = Json{{"global_batch_size", 32}};
        must(write_file(info / info_files::trial, render_trial_info(trial_info)));
    }
    /// Runs the case as a program that was started by hand.
    void run_single_rank(Case body) {
        check_ranks(run_rank_processes(1, [&](Rank) { return status_of(body()); }));
    }
};

/// The searcher async_halving with rungs at 1, 3 and 9.
Json const halving{{"max_trials", 9}, {"max_length", 9}, {"divisor", 3}, {"num_rungs", 3}};

}  // namespace capi_test

BOOST_FIXTURE_TEST_SUITE(capi_test, Fixture)

BOOST_AUTO_TEST_CASE(ranks_reduce_and_exchange_elements) { run_as_ranks(3, case_tensors); }
BOOST_AUTO_TEST_CASE(operations_can_be_started_and_waited_for) { run_as_ranks(2, case_started_operations); }
BOOST_AUTO_TEST_CASE(ranks_exchange_byte_strings) { run_as_ranks(3, case_byte_strings); }
BOOST_AUTO_TEST_CASE(ranks_whose_calls_differ_all_get_an_error_that_names_both_calls) {
    run_as_ranks(3, case_ranks_that_differ);
}
BOOST_AUTO_TEST_CASE(an_argument_that_one_rank_refuses_is_an_error_on_all) {
    run_as_ranks(2, case_what_one_rank_refuses);
}
BOOST_AUTO_TEST_CASE(some_of_the_ranks_have_a_context_of_their_own) {
    run_as_ranks(2, case_some_of_the_ranks);
}
BOOST_AUTO_TEST_CASE(objects_may_be_freed_after_their_context) {
    run_as_ranks(2, case_objects_outlive_their_context);
}
BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_an_error_on_the_ranks_that_wait) {
    run_as_ranks(2, case_a_rank_that_leaves);
}
BOOST_AUTO_TEST_CASE(a_program_that_is_started_by_hand_is_a_single_rank) {
    run_single_rank(case_a_single_rank);
}
BOOST_AUTO_TEST_CASE(absent_devices_are_refused) { run_single_rank(case_no_such_devices); }

BOOST_AUTO_TEST_CASE(ranks_reduce_and_exchange_memory_of_devices) {
    constexpr int ranks = 2;
    collectives::device::FakeDevices devices(ranks);
    run_with_devices(devices, ranks, [](det_context& context, int) { return case_device_memory(&context); });
    for (int rank = 0; rank < ranks; ++rank) {
        auto const streams = devices.streams_of(rank);
        BOOST_REQUIRE(streams.size() == 3u);
        BOOST_TEST(streams[0] == nullptr);
        BOOST_TEST((streams[1] != nullptr && streams[1] == streams[2]));
    }
}

BOOST_AUTO_TEST_CASE(ranks_save_and_load_tensors_in_memory_of_devices) {
    set_latest_checkpoint({});
    constexpr int ranks = 2;
    FakeDeviceMemory memory(1 << 20);
    collectives::device::FakeDevices devices(ranks);
    devices.is_device_memory = [&](void const* at) { return memory.holds(at); };
    devices.copy_memory = [&](void* to, void const* from, std::size_t size) { memory.copy(to, from, size); };
    std::vector<device> own;
    for (int rank = 0; rank < ranks; ++rank) {
        own.push_back({memory.take(1000 * sizeof(float)),
                       [](device const* self, void* to, void const* from, std::size_t size) {
                           static_cast<FakeDeviceMemory const*>(self->own)->copy(to, from, size);
                       },
                       &memory});
    }
    run_with_devices(devices, ranks, [&](det_context& context, int rank) {
        return case_tensors_on_devices(&context, &own[static_cast<std::size_t>(rank)]);
    });
    BOOST_TEST(devices.copies_done == 2 * ranks);
    BOOST_TEST(devices.pinned_now == 0);
}

BOOST_AUTO_TEST_CASE(null_arguments_are_errors_and_null_objects_are_freed) {
    run_single_rank(case_null_arguments);
}
BOOST_AUTO_TEST_CASE(options_may_be_of_an_older_or_a_newer_header) {
    run_single_rank(case_options_of_other_versions);
}

BOOST_AUTO_TEST_CASE(structures_keep_their_layout) { run_single_rank(case_layouts); }
BOOST_AUTO_TEST_CASE(a_rank_knows_its_run) { run_as_ranks(1, case_info_of_the_run); }

BOOST_AUTO_TEST_CASE(the_chief_reports_metrics_and_progress) {
    run_as_ranks(2, case_reports);
    auto const reported = records();
    BOOST_REQUIRE(reported.size() == 8u);
    BOOST_TEST(std::get<MetricsReported>(reported[7]).metrics->at("load.count") == 2);
    BOOST_TEST(std::get<MetricsReported>(reported[0]).group == "validation");
    BOOST_TEST(std::get<MetricsReported>(reported[0]).metrics == (Json{{"loss", 0.5}, {"accuracy", 0.875}}));
    BOOST_TEST(std::get<MetricsReported>(reported[2]).metrics == (Json{{"loss", 2}}));
    BOOST_TEST(std::get<MetricsReported>(reported[4]).group == "mine");
    BOOST_TEST(std::get<MetricsReported>(reported[5]).metrics == (Json{{"loss", 0.5}, {"accuracy", 0.875}}));
    BOOST_TEST(std::get<ProgressReported>(reported[6]).progress == 0.25);
}

BOOST_AUTO_TEST_CASE(a_notice_is_seen_and_acknowledged) {
    raise_notice();
    run_as_ranks(2, case_preempted);
    BOOST_REQUIRE(records().size() == 1u);
    BOOST_TEST(std::holds_alternative<PreemptionAcknowledged>(records()[0]));
}

BOOST_AUTO_TEST_CASE(the_chief_alone_may_peek_and_acknowledge_later) {
    raise_notice();
    run_as_ranks(2, case_acknowledged_later);
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(ranks_may_be_numbered_by_the_program) {
    run_as_ranks(3, case_numbered_by_the_program);
    BOOST_TEST(records().size() == 3u);
}
BOOST_AUTO_TEST_CASE(ranks_may_be_numbered_by_the_program_outside_of_a_run) {
    ::setenv("TMPDIR", directory.path().c_str(), 1);
    run_as_ranks(3, case_numbers_outside_of_a_run);
    ::unsetenv("TMPDIR");
}
BOOST_AUTO_TEST_CASE(ranks_of_several_nodes_may_be_numbered_by_the_program_outside_of_a_run) {
    ::setenv("DET_RENDEZVOUS_DIR", directory.path().c_str(), 1);
    run_as_ranks(3, case_numbers_on_several_nodes);
    ::unsetenv("DET_RENDEZVOUS_DIR");
}

BOOST_AUTO_TEST_CASE(a_program_reports_status_and_alerts_and_reads_metadata) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = directory / "checkpoints";
    spec.searcher = {"single", "loss", true, Json::object()};
    must(write_file(info / info_files::spec, render_spec(spec)));
    run_as_ranks(1, case_told_of_the_trial);
    auto const told = records();
    BOOST_REQUIRE(told.size() == 8u);
    BOOST_TEST(std::get<StatusSet>(told[3]).status == "warming up");
    BOOST_TEST(std::get<AlertRaised>(told[4]).level == "warn");
    BOOST_TEST(std::get<EarlyExitReported>(told[7]).reason == "INVALID_HP");
    BOOST_TEST(path_exists(trial.path() / "tensorboard"));
}

BOOST_AUTO_TEST_CASE(a_program_asks_how_many_batches_are_left) {
    search_with("single", Json{{"max_length", {{"epochs", 9}}}});
    run_as_ranks(1, case_batches_are_left);
    search_with("single", Json::object());
    run_as_ranks(1, case_no_length);
    search_with("adaptive_asha", Json{{"max_trials", 4}, {"time_metric", "hours"}, {"max_time", 4}});
    run_as_ranks(1, case_time_metric);
}

BOOST_AUTO_TEST_CASE(a_program_trains_operation_after_operation) {
    search_with("async_halving", halving);
    run_as_ranks(2, case_operations);
    auto const told = records();
    BOOST_REQUIRE(told.size() == 6u);
    BOOST_TEST(std::get<ProgressReported>(told[4]).progress == 1);
    BOOST_TEST(std::get<OperationCompleted>(told[5]).length == 9u);
    BOOST_TEST(std::get<OperationCompleted>(told[5]).metric == 0.5);
}

BOOST_AUTO_TEST_CASE(a_notice_ends_the_operations) {
    search_with("async_halving", halving);
    raise_notice();
    run_as_ranks(2, case_operations_ended_by_a_notice);
    BOOST_REQUIRE(records().size() == 1u);
    BOOST_TEST(std::holds_alternative<PreemptionAcknowledged>(records()[0]));
}

BOOST_AUTO_TEST_CASE(without_a_notice_no_rank_stops) {
    run_as_ranks(2, case_not_preempted);
    BOOST_TEST(records().empty());
}

BOOST_AUTO_TEST_CASE(a_directory_becomes_a_checkpoint_by_its_commit) {
    run_as_ranks(1, case_stored_directory);
    BOOST_TEST(records().size() == 1u);
    // The discarded drafts have left no files.
    BOOST_TEST(must(list_directory(directory / "checkpoints")).size() == 1u);
}

BOOST_AUTO_TEST_CASE(ranks_upload_their_files_together) { run_as_ranks(2, case_uploaded_files); }

BOOST_AUTO_TEST_CASE(ranks_fill_one_checkpoint_together) {
    run_as_ranks(2, case_stored_by_all);
    BOOST_REQUIRE(records().size() == 1u);
    auto const stored = std::get<CheckpointCommitted>(records()[0]);
    BOOST_TEST(stored.metadata == (Json{{"from", 1}, {"steps_completed", 9}}));
}

BOOST_AUTO_TEST_CASE(ranks_commit_a_draft_together_or_give_it_up_together) {
    run_as_ranks(2, case_draft_of_all_ranks);
    BOOST_TEST(records().size() == 1u);
    BOOST_TEST(must(list_directory(directory / "checkpoints")).size() == 1u);
}
BOOST_AUTO_TEST_CASE(files_are_selected_and_a_program_may_name_its_storage) {
    run_as_ranks(1, case_downloaded_files);
}

BOOST_AUTO_TEST_CASE(the_chief_stores_a_last_checkpoint_if_there_is_time) {
    run_as_ranks(2, case_last_store);
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(if_there_is_too_little_time_all_ranks_get_the_answer_that_nothing_was_stored) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = directory / "checkpoints";
    spec.preemption_timeout_s = 0;
    must(write_file(info / info_files::spec, render_spec(spec)));
    raise_notice();
    run_as_ranks(2, case_no_time_for_a_last_store);
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(ranks_save_and_load_tensors_together) {
    set_latest_checkpoint({});
    run_as_ranks(2, case_tensors_are_saved_and_loaded);
    BOOST_TEST(records().size() == 4u);
}

BOOST_AUTO_TEST_CASE(impossible_states_are_refused) { run_as_ranks(1, case_states_that_are_refused); }
BOOST_AUTO_TEST_CASE(the_latest_checkpoint_is_known) { run_as_ranks(1, case_newest_checkpoint); }

BOOST_AUTO_TEST_SUITE_END()
