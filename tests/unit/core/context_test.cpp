#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

BOOST_FIXTURE_TEST_SUITE(context_test, RunFixture)

BOOST_AUTO_TEST_CASE(started_by_hand_it_is_a_single_rank_whose_reports_go_nowhere) {
    environment = {};
    auto context = init();
    BOOST_TEST(context.info() == nullptr);
    BOOST_TEST(context.hyperparameters() == Json::object());
    BOOST_TEST(context.distributed().size() == 1);
    BOOST_TEST(context.distributed().is_chief());
    must(context.train().report_training_metrics(1, Json{{"loss", 0.5}}));
    must(context.train().report_progress(0.5));
    BOOST_TEST(!must(context.preempt().should_preempt()));
    BOOST_TEST(!context.checkpoint().latest().has_value());
    must(context.close());
    BOOST_TEST(!path_exists(run.chief_journal()));
    BOOST_TEST(!path_exists(directory / "outside"));  // the first checkpoint makes it
}

BOOST_AUTO_TEST_CASE(devices_that_are_requested_but_absent_are_an_error_with_the_reason) {
    environment = {};
    auto chosen = options();
    chosen.devices = Devices::nccl;
    auto context = Context::init(chosen);
    if (context) {  // this machine has a GPU: host memory works as without it
        BOOST_TEST(must(context->distributed().allreduce(7, collectives::ReduceOp::sum)) == 7);
        must(context->distributed().use_stream(nullptr));
        must(context->close());
        return;
    }
    auto const& error = context.error();
    bool const is_built_with = error.message.find("'libcuda.so.1'") != std::string::npos;
    BOOST_TEST(error.hint == (is_built_with ? "device memory needs NVIDIA's driver on this node"
                                            : "install CUDA and NCCL and build again"),
               error.message);
    BOOST_TEST((error.code == codes::transport));
}

BOOST_AUTO_TEST_CASE(gpus_of_amd_that_are_requested_but_absent_are_an_error_with_the_reason) {
    environment = {};
    auto chosen = options();
    chosen.devices = Devices::rccl;
    auto context = Context::init(chosen);
    if (context) {  // this machine has HIP
        must(context->close());
        return;
    }
    auto const& error = context.error();
    bool const is_built_with = error.message.find("'libamdhip64.so.") != std::string::npos;
    BOOST_TEST(error.hint.starts_with(is_built_with ? "device memory needs HIP on this node"
                                                    : "install HIP and RCCL of ROCm"),
               error.message);
    BOOST_TEST((error.code == codes::transport));
}

BOOST_AUTO_TEST_CASE(in_a_run_it_knows_its_trial_and_begins_its_journal) {
    auto context = init();
    BOOST_REQUIRE(context.info() != nullptr);
    BOOST_TEST((context.info()->trial.value().trial == TrialId{{7}, 3}));
    BOOST_TEST(context.hyperparameters() == (Json{{"lr", 0.1}}));
    BOOST_TEST(context.checkpoint().latest().value() == "00000000-0000-4000-8000-000000000001");
    BOOST_TEST(path_exists(run.chief_journal()));
    BOOST_TEST(records().empty());
    must(context.close());
}

BOOST_AUTO_TEST_CASE(a_moved_context_still_works) {
    auto context = init();
    auto const moved = std::make_unique<Context>(std::move(context));
    must(moved->train().report_progress(0.25));
    must(moved->train().flush());
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_script_outside_of_an_experiment_reports_nothing_and_gets_preemption_notices) {
    without_trial();
    auto context = init();
    BOOST_TEST(context.info() != nullptr);
    BOOST_TEST(context.hyperparameters() == Json::object());
    must(context.train().report_training_metrics(1, Json::object()));
    raise_notice();
    BOOST_TEST(must(context.preempt().should_preempt()));
    BOOST_TEST(!path_exists(run.chief_journal()));
    BOOST_TEST(!path_exists("journal"));  // nor where the program was started
    auto const uuid = must(context.checkpoint().store(5, Json::object(), [](auto const&) { return Ok{}; }));
    BOOST_TEST(path_exists(directory / ("outside/" + uuid)));
}

BOOST_AUTO_TEST_CASE(a_run_has_one_chief) {
    auto first = init();
    BOOST_TEST(!Context::init(options()).has_value());
    must(first.train().report_progress(1));
    must(first.train().flush());
    BOOST_TEST(records().size() == 1u);  // the attempt to open a second context has not changed the journal
}

BOOST_AUTO_TEST_CASE(a_run_without_its_notice_page_is_refused) {
    must(remove_tree(run_dir / preemption::notice_file));
    BOOST_TEST((must_fail(Context::init(options())).code == codes::no_such_file));
}

BOOST_AUTO_TEST_CASE(ranks_on_one_node_find_each_other_by_the_runs_directory) {
    constexpr int ranks = 3;
    std::vector<Status> results(ranks, Status(Ok{}));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        auto of_rank = options();
        for (auto const* variable : {"RANK", "LOCAL_RANK"})
            of_rank.environment.set(variable, std::to_string(rank));
        for (auto const* variable : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"})
            of_rank.environment.set(variable, std::to_string(ranks));
        of_rank.environment.set("GROUP_RANK", "0");
        of_rank.environment.set("GROUP_WORLD_SIZE", "1");
        auto const body = [of_rank]() -> Status {
            DET_TRY_ASSIGN(auto context, Context::init(of_rank));
            DET_TRY_ASSIGN(auto const sum, context.distributed().allreduce(1, collectives::ReduceOp::sum));
            if (sum != ranks) return Error{codes::internal, "not all ranks were there"};
            return context.close();
        };
        threads.emplace_back([&result = results[static_cast<std::size_t>(rank)], body] { result = body(); });
    }
    for (auto& thread : threads) thread.join();
    for (auto& result : results) must(std::move(result));
}

BOOST_AUTO_TEST_CASE(a_rank_with_an_impossible_number_is_refused_before_it_writes) {
    for (auto const* variable : {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"})
        environment.set(variable, "1");
    for (auto const* variable : {"LOCAL_RANK", "GROUP_RANK"}) environment.set(variable, "0");
    BOOST_TEST((must_fail(Context::init(options())).code == codes::misuse));
    BOOST_TEST(!path_exists(run.chief_journal()));
}

BOOST_AUTO_TEST_SUITE_END()
