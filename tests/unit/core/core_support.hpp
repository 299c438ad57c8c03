#pragma once
#include <det/core/context.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "temporary_directory.hpp"

namespace det::core {

/// Run 2 of trial 7.3 as its supervisor and its node prepare it, and this process a rank of it.
struct RunFixture {
    TemporaryDirectory directory;
    FakeClock clock;
    std::filesystem::path run_dir = directory / "run-dir";
    std::filesystem::path info = run_dir / info_files::directory;
    TrialLayout trial{directory / "trials/3"};
    RunLayout run = trial.run(2);
    Environment environment{
        {{variables::run_dir, run_dir.string()}, {variables::run_path, run.path().string()}}};

    RunFixture() {
        must(make_directories(info));
        must(make_directories(run.path()));
        ClusterInfo cluster;
        cluster.allocation_id = "7.3.2";
        cluster.latest_checkpoint = "00000000-0000-4000-8000-000000000001";
        must(write_file(info / info_files::cluster, render_cluster_info(cluster)));
        must(write_file(info / info_files::rendezvous, must(render_rendezvous_info({"n[0-1]", "4(x2)", 1}))));
        TrialInfo trial_info;
        trial_info.trial = {{7}, 3};
        trial_info.trial_run_id = 2;
        trial_info.hparams = Json{{"lr", 0.1}};
        must(write_file(info / info_files::trial, render_trial_info(trial_info)));
        ExperimentSpec spec;
        spec.id = {7};
        spec.checkpoint_path = directory / "checkpoints";
        must(write_file(info / info_files::spec, render_spec(spec)));
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
    }

    /// Makes the run one of a user's script, which belongs to no experiment.
    void without_trial() const {
        must(remove_tree(info / info_files::trial));
        must(remove_tree(info / info_files::spec));
    }
    ContextOptions options() { return {environment, directory / "outside", &clock}; }
    Context init() { return must(Context::init(options())); }
    void raise_notice(preemption::NoticePage::By by = preemption::NoticePage::By::supervisor) {
        must(preemption::NoticePage::open(run_dir / preemption::notice_file)).raise(clock, by);
    }
    /// The records of the run's journal, without FirstStep and CheckpointBegun.
    std::vector<Record> records() const {
        auto records = must(journal::load_journal(run.chief_journal())).records;
        std::erase_if(records, [](auto const& record) {
            return std::holds_alternative<FirstStep>(record) ||
                   std::holds_alternative<CheckpointBegun>(record);
        });
        return records;
    }
};

}  // namespace det::core
