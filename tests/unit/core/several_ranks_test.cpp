// Tests the parts of a Context with several ranks, which are threads. Each has the notice page of a node.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/core/checkpoint.hpp>
#include <det/core/preempt.hpp>
#include <det/core/searcher.hpp>
#include <det/core/train.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "context_data.hpp"
#include "core_support.hpp"

using namespace det;
using namespace det::core;
using preemption::NoticePage;

namespace several_ranks_test {

constexpr int ranks = 3;

struct Fixture : RunFixture {
    Fixture() {
        for (int rank = 0; rank < ranks; ++rank) must(NoticePage::create(page(rank)));
    }
    std::filesystem::path page(int rank) const { return directory / ("page-" + std::to_string(rank)); }

    /// Opens what Context::init() opens, with this transport.
    /// \param own the clock of the rank, which is a thread
    Result<ContextData> open(std::unique_ptr<transport::Transport> transport, FakeClock& own) {
        collectives::Topology const topology{transport->rank().value, transport->size()};
        auto const rank = transport->rank().value;
        DET_TRY_ASSIGN(auto context, collectives::DistributedContext::make(std::move(transport), topology));
        DET_TRY_ASSIGN(auto loaded, load_info(environment));
        DET_TRY_ASSIGN(auto notice, NoticePage::open(page(rank)));
        std::unique_ptr<telemetry::Reporter> reporter;
        if (rank == 0) {
            DET_TRY_ASSIGN(auto writer, journal::JournalWriter::create(run.chief_journal()));
            reporter = std::make_unique<telemetry::Reporter>(std::move(writer), own);
        }
        auto store = std::make_unique<checkpoint::SharedFsStore>(directory / "checkpoints");
        ContextData data{own,
                         std::move(loaded),
                         std::move(context),
                         std::move(store),
                         std::move(reporter),
                         std::move(notice)};
        if (rank != 0) {
            data.rank_reports = std::make_unique<RankReports>(run.rank_journal({rank}), Rank{rank}, own,
                                                              std::chrono::milliseconds(0),
                                                              std::function<void(std::string const&)>());
        }
        return data;
    }

    void run_contexts(std::function<Status(ContextData&)> const& body) {
        transport::check_ranks(transport::run_ranks(ranks, [&](auto transport) -> Status {
            FakeClock own;
            DET_TRY_ASSIGN(auto data, open(std::move(transport), own));
            return body(data);
        }));
    }
};

}  // namespace several_ranks_test

BOOST_FIXTURE_TEST_SUITE(several_ranks_test, Fixture)

BOOST_AUTO_TEST_CASE(the_chief_reports_the_mean_over_all_ranks) {
    must(remove_tree(run.chief_journal()));
    run_contexts([&](ContextData& data) -> Status {
        Train train(data);
        auto const rank = static_cast<double>(data.distributed.rank().value);
        std::array<Metric, 2> const metrics{{{"loss", rank}, {"count", 2}}};
        DET_TRY_ASSIGN(auto const means, train.report_mean_metrics("validation", 7, metrics));
        std::array<Metric, 1> const other{{{rank == 0 ? "a" : "b", rank}}};
        auto const differing = train.report_mean_metrics("validation", 8, other);
        if (differing || differing.error().code != codes::misuse)
            return Error{codes::internal, "names that differ were accepted"};
        bool const is_mean = means == std::vector{(ranks - 1) / 2.0, 2.0};
        return is_mean ? Status(Ok{}) : Status(Error{codes::internal, "not the mean"});
    });
    auto const reports = records();
    BOOST_REQUIRE(reports.size() == 1u);
    BOOST_TEST(
        (std::get<MetricsReported>(reports[0]).metrics == Json{{"loss", (ranks - 1) / 2.0}, {"count", 2.0}}));
}

BOOST_AUTO_TEST_CASE(a_notice_to_any_rank_stops_all_of_them_at_the_same_step) {
    for (int noticed = 0; noticed < ranks; ++noticed) {
        must(remove_tree(run.chief_journal()));
        for (int rank = 0; rank < ranks; ++rank) {
            must(remove_tree(page(rank)));
            must(NoticePage::create(page(rank)));
        }
        run_contexts([&](ContextData& data) -> Status {
            Preempt preempt(data);
            for (int step = 0; step < 6; ++step) {
                if (step == 3 && data.distributed.rank().value == noticed)
                    data.notice->raise(data.clock, NoticePage::By::supervisor);
                DET_TRY_ASSIGN(auto const stop, preempt.should_preempt());
                DET_TRY(expect(stop == (step >= 4), "it stops one step later"));
            }
            return Ok{};
        });
        BOOST_REQUIRE(records().size() == 1u);
        BOOST_TEST(std::holds_alternative<PreemptionAcknowledged>(records()[0]));
    }
}

BOOST_AUTO_TEST_CASE(with_chief_only_other_ranks_may_not_ask) {
    run_contexts([](ContextData& data) -> Status {
        Preempt preempt(data, PreemptMode::chief_only);
        if (data.distributed.is_chief()) data.notice->raise(data.clock, NoticePage::By::supervisor);
        auto const answer = preempt.should_preempt();
        if (data.distributed.is_chief()) return expect(answer && *answer, "the chief sees its notice");
        return expect(!answer && answer.error().code == codes::misuse, "a mistake");
    });
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(with_workers_ask_master_no_rank_waits) {
    run_contexts([](ContextData& data) -> Status {
        Preempt preempt(data, PreemptMode::workers_ask_master);
        bool const is_noticed = data.distributed.rank().value == 1;
        if (is_noticed) data.notice->raise(data.clock, NoticePage::By::supervisor);
        for (int call = 0; call <= data.distributed.rank().value; ++call) {
            DET_TRY_ASSIGN(bool const stop, preempt.should_preempt());
            DET_TRY(expect(stop == is_noticed, "its own notice"));
        }
        return Ok{};
    });
}

BOOST_AUTO_TEST_CASE(metrics_of_each_rank_are_recorded_with_the_rank) {
    must(remove_tree(run.chief_journal()));
    run_contexts([&](ContextData& data) -> Status {
        Train train(data);
        auto const rank = data.distributed.rank().value;
        if (rank == 2) return Ok{};  // a rank that reports nothing makes no journal
        std::array<Metric, 1> const metrics{{{"loss", static_cast<double>(rank)}}};
        DET_TRY(train.report_metrics("training", 5, metrics));
        DET_TRY(train.report_metrics_text("validation", 6, R"({"loss": 1.5, "text": "none"})"));
        DET_TRY(train.flush());
        auto const journal = journal::load_journal(rank == 0 ? run.chief_journal() : run.rank_journal({1}));
        if (!journal) return journal.error();
        std::vector<MetricsReported> reports;
        for (auto const& record : journal->records) {
            if (auto const* report = std::get_if<MetricsReported>(&record)) reports.push_back(*report);
        }
        DET_TRY(expect(reports.size() == 2, "both reports, after flush()"));
        for (auto const& report : reports) DET_TRY(expect(report.rank.value == rank, "the rank"));
        DET_TRY(train.report_training_metrics(7, Json{{"loss", 2}}));
        return data.close_reports();
    });
    BOOST_TEST(must(journal::load_journal(run.rank_journal({1}))).records.size() == 3u);
    BOOST_TEST(!path_exists(run.rank_journal({2})));
    BOOST_TEST(records().size() == 3u);
}

BOOST_AUTO_TEST_CASE(only_the_chief_reports_and_stores) {
    run_contexts([](ContextData& data) -> Status {
        bool const is_chief = data.distributed.is_chief();
        Train train(data);
        Checkpoint checkpoint(data);
        bool called = false;
        auto const results = {
            train.report_progress(0.5),
            train.set_status("busy"),
            train.report_early_exit(EarlyExit::invalid_hp),
            [&]() -> Status {
                DET_TRY(checkpoint.store(1, Json::object(), [&](auto const&) {
                    called = true;
                    return Ok{};
                }));
                return Ok{};
            }(),
        };
        for (auto const& result : results) {
            DET_TRY(expect(result.has_value() == is_chief, "the chief may, the others may not"));
            DET_TRY(expect(is_chief || result.error().code == codes::misuse, "it is their mistake"));
        }
        return expect(called == is_chief, "others write nothing");
    });
    BOOST_TEST(records().size() == 4u);
    BOOST_REQUIRE(must(list_directory(directory / "checkpoints")).size() == 1u);
}

BOOST_AUTO_TEST_CASE(all_ranks_get_the_operations_of_the_chief) {
    ExperimentSpec spec;
    spec.id = {7};
    spec.searcher = {"async_halving", "loss", true,
                     Json{{"max_trials", 9}, {"max_length", 9}, {"divisor", 3}, {"num_rungs", 3}}};
    must(write_file(info / info_files::spec, render_spec(spec)));
    run_contexts([](ContextData& data) -> Status {
        Searcher searcher(data);
        bool const is_chief = data.distributed.is_chief();
        for (std::uint64_t const length : {1, 3}) {
            DET_TRY_ASSIGN(auto const operation, searcher.next_operation());
            DET_TRY(expect(operation == length, "every rank has the operation"));
            auto const progress = searcher.report_progress(1);
            DET_TRY(expect(progress.has_value() == is_chief, "only the chief reports progress"));
            auto const completed = searcher.report_completed(0.5);
            DET_TRY(expect(completed.has_value() == is_chief, "only the chief completes"));
        }
        DET_TRY(searcher.next_operation());
        auto const missing = searcher.next_operation();
        DET_TRY(expect(!missing && missing.error().code == codes::misuse, "every rank has the error"));
        if (is_chief) DET_TRY(searcher.report_completed(0.5));
        DET_TRY_ASSIGN(auto const end, searcher.next_operation());
        return expect(!end, "every rank has the end");
    });
}

BOOST_AUTO_TEST_CASE(only_the_chief_may_ask_for_operations_alone) {
    run_contexts([](ContextData& data) -> Status {
        Searcher searcher(data);
        auto const asked = searcher.next_operation(Searcher::Mode::chief_only);
        // The experiment has no length, so the chief fails too.
        auto const* wanted = data.distributed.is_chief() ? "max_length" : "only the chief";
        return expect(!asked && asked.error().message.find(wanted) != std::string::npos, wanted);
    });
}

BOOST_AUTO_TEST_CASE(a_checkpoint_says_how_many_ranks_there_were) {
    run_contexts([&](ContextData& data) -> Status {
        Checkpoint checkpoint(data);
        std::string uuid;
        if (data.distributed.is_chief()) {
            DET_TRY_ASSIGN(uuid, checkpoint.store(1, Json::object(), [](auto const&) { return Ok{}; }));
        }
        DET_TRY_ASSIGN(auto const stored, data.distributed.broadcast(uuid));
        DET_TRY_ASSIGN(auto const manifest, checkpoint.load_manifest(stored));
        return expect(manifest.world_size == ranks, "the manifest says so");
    });
}

BOOST_AUTO_TEST_CASE(files_that_ranks_upload_are_one_checkpoint_that_is_reported_once) {
    run_contexts([&](ContextData& data) -> Status {
        auto const rank = std::to_string(data.distributed.rank().value);
        checkpoint::Upload own{directory / ("own-" + rank)};
        DET_TRY(make_directories(*own.directory));
        DET_TRY(write_file(*own.directory / rank, rank));
        Checkpoint checkpoint(data);
        DET_TRY_ASSIGN(auto const uuid, checkpoint.upload(7, own));
        DET_TRY_ASSIGN(auto const path, checkpoint.restore_path(uuid));
        return expect(path_exists(path / "2"), "the last rank's file is there");
    });
    BOOST_REQUIRE(records().size() == 1u);
    BOOST_TEST(std::get<CheckpointCommitted>(records()[0]).steps_completed == 7u);
}

BOOST_AUTO_TEST_CASE(a_save_of_all_ranks_is_reported_once_and_loaded_by_all) {
    constexpr std::size_t own = 1000;
    run_contexts([&](ContextData& data) -> Status {
        auto const rank = static_cast<std::uint64_t>(data.distributed.rank().value);
        std::vector<float> weights(own);
        checkpoint::State const state{tensor::NamedTensor::slice(
            "w", tensor::DataType::float32, {ranks * own}, {{rank * own}, {own}}, weights.data())};
        Checkpoint checkpoint(data);
        for (std::uint64_t step : {1, 2}) {
            std::ranges::fill(weights, static_cast<float>(10 * step + rank));
            DET_TRY(checkpoint.save(step, Json{{"note", "x"}}, state));
        }
        DET_TRY(checkpoint.finish());
        std::ranges::fill(weights, -1.0F);
        DET_TRY_ASSIGN(auto const loaded, checkpoint.load(state, checkpoint::OnDamage::take_older));
        DET_TRY(expect(loaded && loaded->manifest.steps_completed == 2, "it is the newest"));
        return expect(weights.front() == static_cast<float>(20 + rank) && weights.back() == weights.front(),
                      "the values are this rank's");
    });
    BOOST_REQUIRE(records().size() == 2u);
    auto const newest = std::get<CheckpointCommitted>(records()[1]);
    BOOST_TEST(newest.steps_completed == 2u);
    BOOST_TEST(newest.metadata == (Json{{"note", "x"}, {"steps_completed", 2}}));
    BOOST_TEST(newest.resources->contains("rank-00002.safetensors"));
}

BOOST_AUTO_TEST_SUITE_END()
