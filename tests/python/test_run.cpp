// A run of an experiment on this machine, for the tests in Python:
//   test_run make DIRECTORY CONFIG      makes run 0 of trial 7.0. CONFIG is the configuration as JSON. There
//                                       are two slots unless it has resources.slots_per_trial; if that is
//                                       a range, TEST_SLOTS is the number of slots of the run. With
//                                       "trial_index": 1 programs see trial 7.1
//   test_run again DIRECTORY [UUID [STEPS [RUN]]]   makes run 1, or RUN, which continues from the checkpoint
//                                       UUID if it is given
//   test_run raise DIRECTORY            raises the preemption notice
//   test_run records DIRECTORY RUN      prints the chief's journal, one record a line
//   test_run rank-metrics DIRECTORY RUN   prints the metrics of all ranks, one report a line
// A program joins it with DET_RUN_DIR=DIRECTORY/node and DET_RUN_PATH=DIRECTORY/trials/0/runs/RUN.
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <iostream>
#include <span>

using namespace det;

namespace {

namespace fs = std::filesystem;

/// The number of slots of the run.
int slots_of(Json const& config) {
    auto const slots = config.value("resources", Json::object()).value("slots_per_trial", Json(2));
    if (slots.is_number_integer()) return slots.get<int>();
    auto const environment = Environment::of_this_process();
    auto const of_run = environment.find("TEST_SLOTS");
    return of_run ? parse_integer<int>(*of_run).value_or(1) : 1;
}

Status write_info(fs::path const& root, std::uint32_t run, std::optional<std::string> const& checkpoint,
                  Json const& config, std::uint64_t steps_completed = 0) {
    auto const info = root / "node" / info_files::directory;
    DET_TRY(make_directories(info));
    DET_TRY(make_directories(TrialLayout(root / "trials/0").run(run).path()));
    ClusterInfo cluster;
    cluster.agent_id = "n0";
    cluster.task_id = "7.0";
    cluster.allocation_id = "7.0." + std::to_string(run);
    cluster.latest_checkpoint = checkpoint;
    auto const slots = slots_of(config);
    for (int slot = 0; slot < slots; ++slot) cluster.slot_ids.push_back(slot);
    DET_TRY(write_file(info / info_files::cluster, render_cluster_info(cluster)));
    DET_TRY_ASSIGN(auto const rendezvous, render_rendezvous_info({"n0", std::to_string(slots), 0}));
    DET_TRY(write_file(info / info_files::rendezvous, rendezvous));
    TrialInfo trial;
    trial.trial = {{7}, config.value("trial_index", 0u)};
    trial.trial_run_id = run;
    trial.trial_seed = 11;
    trial.hparams = config.value("hyperparameters", Json::object());
    trial.config = config;
    trial.steps_completed = steps_completed;
    DET_TRY(write_file(info / info_files::trial, render_trial_info(trial)));
    ExperimentSpec spec;
    spec.id = {7};
    spec.checkpoint_path = root / "checkpoints";
    spec.config = config;
    spec.tensorboard = config.value("slurm", Json::object()).value("tensorboard", false);
    auto const searcher = config.value("searcher", Json::object());
    spec.searcher = {searcher.value("name", "single"), searcher.value("metric", "loss"), true, searcher};
    DET_TRY(write_file(info / info_files::spec, render_spec(spec)));
    return preemption::NoticePage::create(root / "node" / preemption::notice_file);
}

Status run(std::vector<std::string> const& words) {
    if (words.size() < 2)
        return Error{codes::usage, "test_run make|again|raise|records|rank-metrics DIRECTORY ..."};
    auto const& command = words[0];
    fs::path const root(words[1]);
    auto const argument = words.size() > 2 ? words[2] : std::string();
    if (command == "make") {
        DET_TRY(write_file(root / "config.json", argument));
        return write_info(root, 0, std::nullopt, parse_json(argument));
    }
    if (command == "again") {
        DET_TRY(remove_tree(root / "node"));
        DET_TRY_ASSIGN(auto const config, read_file(root / "config.json"));
        auto const run = words.size() > 4 ? std::stoul(words[4]) : 1;
        return write_info(root, static_cast<std::uint32_t>(run),
                          argument.empty() ? std::nullopt : std::optional(argument), parse_json(config),
                          words.size() > 3 ? std::stoull(words[3]) : 0);
    }
    if (command == "raise") {
        SystemClock clock;
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(root / "node" / preemption::notice_file));
        page.raise(clock, preemption::NoticePage::By::supervisor);
        return Ok{};
    }
    DET_TRY_ASSIGN(auto const journal, journal::load_journal(root / "trials/0/runs" / argument / "journal"));
    if (command == "rank-metrics") {
        std::vector<MetricsReported> chief;
        for (auto const& record : journal.records) {
            if (auto const* report = std::get_if<MetricsReported>(&record)) chief.push_back(*report);
        }
        DET_TRY_ASSIGN(auto others, journal::load_other_ranks(RunLayout(root / "trials/0/runs" / argument)));
        for (auto const& report : journal::merge_ranks(std::move(chief), std::move(others)))
            std::cout << to_line(to_json(Record(report))) << '\n';
        return Ok{};
    }
    for (auto const& record : journal.records) std::cout << to_line(to_json(record)) << '\n';
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    std::span const words(argv, static_cast<std::size_t>(argc));
    auto const done = run({words.begin() + 1, words.end()});
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return 1;
}
