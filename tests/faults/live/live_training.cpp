#include "live_training.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../cluster/as_owner.hpp"
#include "test_paths.hpp"

namespace det::faults {
namespace {

constexpr ExperimentId experiment{1};

/// The value of a variable in /proc/PID/environ.
std::string variable_of(std::string const& environ, std::string_view name) {
    for (auto const text : split(environ, '\0')) {
        if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
            return std::string(text.substr(name.size() + 1));
    }
    return {};
}

std::optional<TrainingProcess> read_process(std::string const& pid) {
    auto const directory = std::filesystem::path("/proc") / pid;
    auto const stat = read_file(directory / "stat").value_or("");
    auto const begin = stat.find('('), end = stat.rfind(')');
    if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
    auto const fields = split(std::string_view(stat).substr(end), ' ');
    if (fields.size() < 3 || fields[1] == "Z") return std::nullopt;
    return TrainingProcess{parse_integer<pid_t>(pid).value_or(0), parse_integer<pid_t>(fields[2]).value_or(0),
                           stat.substr(begin + 1, end - begin - 1), ""};
}

Status remove_one(std::filesystem::path const& file) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) return Error{codes::process, file.string() + ": " + error.message()};
    return Ok{};
}

}  // namespace

std::uint64_t Snapshot::last_step(std::uint32_t trial) const {
    std::uint64_t last = 0;
    if (trial >= reports.size()) return last;
    for (auto const& run : reports[trial]) last = std::max(last, run.last_step.value_or(0));
    return last;
}

Status run_program(std::vector<std::string> argv) {
    auto const what = join(argv, " ");
    DET_TRY_ASSIGN(auto const output,
                   SystemProcessRunner().run(
                       {std::move(argv), Environment::of_this_process(), std::chrono::seconds(60)}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, fmt::format("{}: {}", what, output.err)};
}

LiveTraining::~LiveTraining() {
    if (is_mounted_) ::umount2(root().c_str(), MNT_DETACH);
}

Status LiveTraining::mount_own_file_system() const {
    auto const image = (site_.state() / (name_ + ".image")).string();
    DET_TRY(run_program({"truncate", "--size=320M", image}));
    DET_TRY(run_program({"mkfs.ext4", "-q", "-m", "0", image}));
    DET_TRY(run_program({"mount", "-o", "loop,noatime", image, root().string()}));
    is_mounted_ = true;
    return remove_one(image);  // the loop device keeps it
}

Status LiveTraining::make_files() const {
    DET_TRY(make_directories(directory() / "code"));
    DET_TRY(make_directories(root()));
    if (seam_ == Seam::own_file_system) DET_TRY(mount_own_file_system());
    std::vector<std::string> others;
    for (int node = 0; node < site_.nodes(); ++node)
        if (std::ranges::find(nodes_, node) == nodes_.end()) others.push_back(fmt::format("n{}", node));
    auto const excluded = others.empty() ? std::string("n0") : compress_host_list(others);
    ConfigPlaces const places{name_, (site_.state() / "software" / "tests").string(), trace_file().string(),
                              excluded};
    auto const file = kind_.is_batch_script ? "train.sbatch" : "train.yaml";
    DET_TRY(write_file(directory() / file, render_config(kind_, places)));
    DET_TRY(write_file(directory() / "code" / "README", "the code of the training\n"));
    if (!kind_.program.empty()) {
        auto const source = std::filesystem::path(det::test::source_path(kind_.program));
        DET_TRY_ASSIGN(auto const text, read_file(source));
        auto const target = kind_.is_batch_script ? directory() : directory() / "code";
        DET_TRY(write_file(target / source.filename(), text));
    }
    DET_TRY(write_file(directory() / "clock", std::string(sizeof(std::int64_t), '\0')));
    DET_TRY(run_program({"chown", "-R", "--reference=" + site_.home().string(), directory().string()}));
    return Ok{};
}

/// Programs write it at once: it is in no file system that loses what they write.
std::filesystem::path LiveTraining::trace_file() const {
    return seam_ == Seam::nfs ? site_.home() / (name_ + ".trace") : directory() / "trace";
}

std::string LiveTraining::variables() const {
    auto const libraries = site_.state() / "software" / "tests";
    // DET_SILENCE_S: the supervisor abandons a silent node after 45 s instead of two minutes. As at most
    // sites, Slurm notices a lost node sooner.
    auto text = fmt::format("DET_ROOT={} DET_SILENCE_S=45", root().string());
    if (seam_ == Seam::clock)
        text +=
            fmt::format(" LD_PRELOAD={} DET_CLOCK_SHIFT={}", (libraries / "faults_clock_jumper.so").string(),
                        (directory() / "clock").string());
    if (seam_ == Seam::failing_writes)
        text += fmt::format(" LD_PRELOAD={} DET_FAILING_CONTROL={} DET_FAILING_BELOW={}",
                            (libraries / "failing_storage.so").string(), (directory() / "failure").string(),
                            root().string());
    return text;
}

Status LiveTraining::create() {
    DET_TRY(make_files());
    if (seam_ == Seam::nfs) {
        DET_TRY_ASSIGN(nfs_, SharedNfs::mount(site_, directory(), nodes_));
    }
    auto const command =
        kind_.is_batch_script
            ? "create --json --config max_restarts=10 --config slurm.progress_glob=step train.sbatch"
            : "create --json train.yaml code";
    DET_TRY(site_.shell(
        fmt::format("cd {} && {} det-submit experiment {}", directory().string(), variables(), command)));
    return Ok{};
}

Result<Snapshot> LiveTraining::snapshot() const {
    AsOwner const owner(site_.home());
    tracker::history::JournalHistory history{RootLayout(root())};
    Snapshot snapshot;
    DET_TRY_ASSIGN(snapshot.record, history.load_experiment(experiment));
    for (auto const& trial : snapshot.record.trials) {
        DET_TRY_ASSIGN(auto reports, history.load_reports(trial.id));
        snapshot.reports.push_back(std::move(reports));
    }
    return snapshot;
}

Result<std::set<std::pair<std::uint32_t, std::uint32_t>>> LiveTraining::runs_from_memory(
    Snapshot const& snapshot) const {
    AsOwner const owner(site_.home());
    ExperimentLayout const layout(RootLayout(root()), experiment);
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::uint32_t trial = 0; trial < snapshot.reports.size(); ++trial) {
        for (auto const& run : snapshot.reports[trial]) {
            DET_TRY_ASSIGN(auto const journal,
                           journal::load_journal(layout.trial(trial).run(run.run).chief_journal()));
            if (std::ranges::any_of(journal.records, [](auto const& record) {
                    return std::holds_alternative<ContinuedFromMemory>(record);
                }))
                found.emplace(trial, run.run);
        }
    }
    return found;
}

std::map<std::uint32_t, LiveTraining::Trace> LiveTraining::trace() const {
    std::map<std::uint32_t, Trace> runs;
    auto const text = read_file(trace_file()).value_or("");
    for (auto const line : split_lines(text)) {
        auto const words = split(line, ' ');
        auto const number = words.size() < 2 ? std::nullopt : parse_integer<std::uint32_t>(words[0]);
        if (!number) continue;
        auto& run = runs[*number];
        auto const step = words.size() > 2 ? parse_integer<std::uint64_t>(words[2]) : std::nullopt;
        if (words[1] == "resumed") run.resumed = step;
        if (words[1] == "step") run.last = step;
        if (words[1] == "saved") run.saved = step;
        if (words[1] == "final") run.weights = line.substr(line.find("final"));
    }
    return runs;
}

Result<std::uint64_t> LiveTraining::last_step(std::uint32_t trial) const {
    std::uint64_t last = 0;
    for (auto const& [number, run] : trace()) last = std::max(last, run.last.value_or(0));
    if (last > 0) return last;
    DET_TRY_ASSIGN(auto const now, snapshot());
    return now.last_step(trial);
}

Result<std::string> LiveTraining::shell(std::string const& script) const {
    auto const begin =
        fmt::format("export DET_ROOT={} && cd {} || exit\n", root().string(), directory().string());
    return site_.shell(begin + script, std::chrono::seconds(150));
}

Result<std::string> LiveTraining::run_command(std::string const& arguments) const {
    return shell("det-submit " + arguments);
}

Result<std::string> LiveTraining::state() const {
    DET_TRY_ASSIGN(auto const text, run_command("experiment describe 1 --json"));
    auto const answer = try_parse_json(text);
    if (!answer.is_object()) return Error{codes::internal, "experiment describe answers " + text};
    return answer.at("state").get<std::string>();
}

std::vector<TrainingProcess> LiveTraining::processes() const {
    std::vector<TrainingProcess> found;
    auto const own_root = root().string();
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        if (!parse_integer<pid_t>(name)) continue;
        auto const environ = read_file(std::filesystem::path("/proc") / name / "environ").value_or("");
        if (variable_of(environ, "DET_ROOT") != own_root) continue;
        auto process = read_process(name);
        if (!process) continue;
        process->host = variable_of(environ, "SLURMD_NODENAME");
        found.push_back(std::move(*process));
    }
    return found;
}

std::vector<TrainingProcess> LiveTraining::processes(std::string_view program) const {
    auto found = processes();
    std::erase_if(found, [&](auto const& process) { return process.program != program; });
    return found;
}

std::vector<TrainingProcess> LiveTraining::parents_of(std::vector<TrainingProcess> const& children) {
    std::vector<TrainingProcess> parents;
    for (auto const& stepd : find_processes("slurmstepd: ")) {
        auto const child = std::ranges::find(children, stepd.pid, &TrainingProcess::parent);
        if (child != children.end()) parents.push_back({stepd.pid, stepd.parent, "slurmstepd", child->host});
    }
    return parents;
}

Result<bool> LiveTraining::is_held() const {
    DET_TRY_ASSIGN(auto const now, snapshot());
    std::vector<std::string> jobs;
    for (auto const& array : now.record.arrays()) jobs.push_back(std::to_string(array.job));
    DET_TRY_ASSIGN(auto const reasons,
                   site_.shell("squeue --noheader --states=PENDING --format=%r --jobs=" + join(jobs, ",")));
    return reasons.find("JobHeldUser") != std::string::npos;
}

Result<std::string> LiveTraining::queued_jobs() const {
    DET_TRY_ASSIGN(auto const text, site_.shell("squeue --noheader --format='%F|%i %T|%Z'"));
    DET_TRY_ASSIGN(auto const now, snapshot());
    std::vector<std::string> queued;
    for (auto const line : split_lines(text)) {
        auto const fields = split(line, '|');
        if (fields.size() < 3) continue;
        auto const array = parse_integer<std::uint32_t>(trim(fields[0]));
        auto const arrays = now.record.arrays();
        bool const is_recorded =
            std::ranges::any_of(arrays, [&](auto const& each) { return each.job == array; });
        if (is_recorded || fields[2].starts_with(directory().string())) queued.emplace_back(fields[1]);
    }
    return join(queued, ", ");
}

Status LiveTraining::write_failure(std::string_view error) const {
    auto const control = directory() / "failure";
    if (error.empty()) return remove_one(control);
    DET_TRY(write_file(directory() / "failure.new", std::string(error), 0644));
    std::error_code ignored;
    std::filesystem::rename(directory() / "failure.new", control, ignored);
    return Ok{};
}

Status LiveTraining::shift_clock(std::chrono::seconds by) const {
    // Written in place, because the programs have mapped the file.
    std::int64_t const shift_us = std::chrono::microseconds(by).count();
    UniqueFd const file(::open((directory() / "clock").c_str(), O_WRONLY | O_CLOEXEC));
    if (::pwrite(file.get(), &shift_us, sizeof shift_us, 0) == sizeof shift_us) return Ok{};
    return Error{codes::process, "the clock can't be set"};
}

Status LiveTraining::fill_disk() const {
    // The first write takes all blocks that are free now; the second one those that were freed meanwhile.
    struct statvfs space {};
    if (::statvfs(root().c_str(), &space) != 0) return Error{codes::process, "statvfs"};
    auto const free = std::to_string(space.f_bavail * space.f_frsize);
    static_cast<void>(run_program({"fallocate", "--length=" + free, (root() / "fill").string()}));
    static_cast<void>(
        run_program({"bash", "-c", fmt::format("head -c 320M /dev/zero >{}", (root() / "more").string())}));
    return Ok{};
}

Status LiveTraining::free_disk() const {
    return run_program({"rm", "-f", (root() / "fill").string(), (root() / "more").string()});
}

Status LiveTraining::freeze(bool on) const {
    return run_program({"fsfreeze", on ? "--freeze" : "--unfreeze", root().string()});
}

}  // namespace det::faults
