#include "training.hpp"

#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "as_owner.hpp"

namespace det::faults {
namespace {

constexpr int training_steps = 300;

/// Changes the owner to that of the parent directory, so that jobs can write there.
Status chown_like_parent(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(
        auto const output,
        SystemProcessRunner().run(
            {{"chown", "-R", "--reference=" + directory.parent_path().string(), directory.string()},
             Environment::of_this_process()}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, output.err};
}

}  // namespace

std::string Training::config() const {
    auto const programs = (site_.state() / "software" / "tests").string();
    std::vector<std::string> others;
    for (int node = 0; node < site_.nodes(); ++node) {
        if (std::ranges::find(nodes_, node) == nodes_.end()) others.push_back(fmt::format("n{}", node));
    }
    auto const excluded =
        others.empty() ? "" : fmt::format("\n  sbatch_args: ['--exclude={}']", compress_host_list(others));
    return fmt::format(R"(name: {name}
entrypoint: [{programs}/faults_cluster_worker, {name}, {trace}, "{steps}"]
environment:
  environment_variables: ["LD_PRELOAD={programs}/faults_clock_jumper.so", "DET_CLOCK_SHIFT={clock}"]
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 4}}
max_restarts: 100
checkpoint_storage:
  type: shared_fs
  host_path: {checkpoints}
  save_trial_latest: 1000
slurm:
  launch: rank{excluded}
)",
                       fmt::arg("name", name_), fmt::arg("programs", programs),
                       fmt::arg("trace", trace_file().string()), fmt::arg("steps", training_steps),
                       fmt::arg("clock", clock_file().string()),
                       fmt::arg("checkpoints", checkpoints().string()), fmt::arg("excluded", excluded));
}

Status Training::create() {
    DET_TRY(make_directories(directory() / "code"));
    DET_TRY(make_directories(checkpoints()));
    DET_TRY(write_file(clock_file(), std::string(sizeof(std::int64_t), '\0')));
    DET_TRY(write_file(directory() / "faults.yaml", config()));
    DET_TRY(write_file(directory() / "code" / "README", "nothing but a compiled program\n"));
    DET_TRY(chown_like_parent(directory()));
    // DET_SILENCE_S: the supervisor abandons a silent node after 12 s instead of two minutes.
    DET_TRY_ASSIGN(auto const answer,
                   site_.shell(fmt::format("cd {} && DET_SILENCE_S=12 det-submit experiment create "
                                           "faults.yaml code --json",
                                           name_)));
    auto const json = try_parse_json(answer);
    if (!json.is_object()) return Error{codes::internal, "experiment create answers " + answer};
    id_ = {json.at("id").get<std::uint32_t>()};
    return Ok{};
}

std::map<std::uint32_t, TracedRun> Training::trace() const {
    std::map<std::uint32_t, TracedRun> runs;
    auto const text = read_file(trace_file()).value_or("");
    for (auto const line : split_lines(text)) {
        auto const words = split(line, ' ');
        auto const number = words.size() < 2 ? std::nullopt : parse_integer<std::uint32_t>(words[0]);
        if (!number) continue;
        auto& run = runs[*number];
        auto const step = words.size() > 2 ? parse_integer<std::uint64_t>(words[2]) : std::nullopt;
        if (words[1] == "restoring") run.is_restoring = true;
        if (words[1] == "resumed") run.resumed_at = run.last_step = step.value_or(0);
        if (words[1] == "step") run.last_step = step.value_or(0);
        if (words[1] == "preempted") run.preempted_at = step;
        if (words[1] == "final") run.weights = line.substr(line.find("final"));
    }
    return runs;
}

Result<std::vector<lifecycle::RunView>> Training::runs() const {
    AsOwner const owner(site_.root());
    DET_TRY_ASSIGN(auto record,
                   tracker::history::JournalHistory(RootLayout(site_.root())).load_experiment(id_));
    if (record.trials.empty()) return std::vector<lifecycle::RunView>();
    return std::move(record.trials.front().runs);
}

Result<std::vector<Record>> Training::reports(std::uint32_t run) const {
    AsOwner const owner(site_.root());
    auto const layout = ExperimentLayout(RootLayout(site_.root()), id_).trial(0).run(run);
    DET_TRY_ASSIGN(auto contents, journal::load_journal(layout.chief_journal()));
    return std::move(contents.records);
}

Result<std::string> Training::state() const {
    DET_TRY_ASSIGN(auto const answer, site_.ask(fmt::format("experiment describe {}", id_.value)));
    return answer.at("state").get<std::string>();
}

Status Training::command(std::string_view verb) const {
    DET_TRY(site_.shell(fmt::format("det experiment {} {}", verb, id_.value)));
    return Ok{};
}

std::vector<Process> Training::processes(std::string const& program) const {
    auto found = find_processes(name_ + " ");
    std::erase_if(found, [&](auto const& process) { return process.program != program; });
    return found;
}

std::vector<Process> Training::supervisors() const {
    auto found =
        find_processes(fmt::format("{} ", ExperimentLayout(RootLayout(site_.root()), id_).path().string()));
    std::erase_if(found, [](auto const& process) { return process.program != "det-launch"; });
    return found;
}

std::set<std::string> Training::unfinished_checkpoints() const {
    checkpoint::SharedFsStore const store(checkpoints());
    std::set<std::string> unfinished;
    for (auto const& uuid : store.list().value_or(std::vector<std::string>())) {
        if (!path_exists(store.path_of(uuid) / manifest_name)) unfinished.insert(uuid);
    }
    return unfinished;
}

Status Training::shift_clock(std::chrono::seconds by) const {
    // Written in place, because the ranks have mapped the file.
    std::int64_t const shift_us = std::chrono::microseconds(by).count();
    UniqueFd const file(::open(clock_file().c_str(), O_WRONLY | O_CLOEXEC));
    if (::pwrite(file.get(), &shift_us, sizeof shift_us, 0) == sizeof shift_us) return Ok{};
    return Error{codes::process, "the clock can't be set"};
}

std::optional<RunStarted> Training::last_started() const {
    auto const known = runs();
    if (!known || known->empty()) return std::nullopt;
    return known->back().started;
}

std::vector<std::string> Training::hosts() const {
    auto const started = last_started();
    if (!started) return {};
    return expand_host_list(started->hosts).value_or(std::vector<std::string>());
}

std::string Training::job() const {
    auto const started = last_started();
    return started ? started->job : "";
}

}  // namespace det::faults
