#include "batch_script.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <regex>

#include "check_result.hpp"

namespace det::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Files = std::map<std::string, std::string>;

constexpr int steps_before_preemption = 8;
// A shorter number in a text may be something else than the id of a job.
constexpr std::size_t digits_of_id = 5;
constexpr auto run_limit = 280s;
constexpr std::uintmax_t largest_file_bytes = 1 << 20;

/// The regular files below a directory by their relative names, without those of git and large ones.
Files read_files(fs::path const& directory) {
    Files files;
    std::error_code ignored;  // a file may disappear meanwhile
    for (fs::recursive_directory_iterator entry(directory, ignored), end; entry != end;
         entry.increment(ignored)) {
        if (entry->path().filename() == ".git") entry.disable_recursion_pending();
        if (!entry->is_regular_file(ignored) || entry->file_size(ignored) > largest_file_bytes) continue;
        auto text = read_file(entry->path());
        if (text) files[fs::relative(entry->path(), directory)] = *std::move(text);
    }
    return files;
}

/// The text of a line without what srun and the plugin put in front of it to name its rank.
std::string_view without_label(std::string_view line) {
    static std::regex const label(R"(^(\s*\d+: )?(\[rank=\d+\] )?)");
    std::cmatch match;
    if (std::regex_search(line.data(), line.data() + line.size(), match, label))
        line.remove_prefix(static_cast<std::size_t>(match.length()));
    return line;
}

bool is_step(std::string_view line) {
    line = without_label(line);
    return line.starts_with("step ") && line.size() > 5 && line[5] >= '0' && line[5] <= '9';
}

int count_steps(std::string_view text) {
    return static_cast<int>(std::ranges::count_if(split_lines(text), is_step));
}

int count_steps(Files const& files) {
    int count = 0;
    for (auto const& [name, text] : files) count += count_steps(text);
    return count;
}

struct Job {
    std::string id, array_id;
    int exit_code = 0, starts = 1;
};

std::string field(std::string const& line, std::string const& name) {
    std::smatch match;
    return std::regex_search(line, match, std::regex("(^| )" + name + "=(\\S*)")) ? match[2].str() : "";
}

/// The jobs after this one, but for those that preempt others.
std::vector<Job> jobs_since(LoopbackCluster const& cluster, int last_id) {
    std::vector<Job> jobs;
    auto const text = cluster.shell("scontrol --oneliner show job --all 2>/dev/null || true");
    for (auto const view : split_lines(text)) {
        std::string const line(view);
        auto const id = parse_integer<int>(field(line, "JobId"));
        if (!id || *id <= last_id) continue;
        if (field(line, "Partition") == "urgent") continue;
        Job job{field(line, "JobId"), field(line, "ArrayJobId")};
        auto const code = field(line, "ExitCode");  // "1:0", "0:15"
        auto const colon = code.find(':');
        job.exit_code = std::stoi(code);
        if (auto const signal = std::stoi(code.substr(colon + 1)); signal != 0) job.exit_code = 128 + signal;
        auto const state = field(line, "JobState");
        if (job.exit_code == 0 && state != "COMPLETED") job.exit_code = 1;
        job.starts += std::stoi(field(line, "Restarts"));
        jobs.push_back(job);
    }
    return jobs;
}

int last_job_id(LoopbackCluster const& cluster) {
    int last = 0;
    for (auto const& job : jobs_since(cluster, 0)) last = std::max(last, std::stoi(job.id));
    return last;
}

std::string without_ids(std::string_view text, std::regex const& ids) {
    std::string result;
    std::regex_replace(std::back_inserter(result), text.begin(), text.end(), ids, "$1JOB");
    return result;
}

std::string without_ids_and_labels(std::string const& text, std::regex const& ids) {
    std::string result;
    for (auto const line : split_lines(text)) result += without_ids(without_label(line), ids) + "\n";
    return result;
}

/// Matches the ids of the jobs that have this number of digits, or more.
std::regex pattern_of(std::vector<Job> const& jobs, std::size_t digits) {
    std::vector<std::string> ids{"no job"};
    for (auto const& job : jobs) {
        for (auto const& id : {job.id, job.array_id}) {
            if (!id.empty() && id.size() >= digits) ids.push_back(id);
        }
    }
    return std::regex(fmt::format(R"((^|[^0-9])({})(?![0-9]))", fmt::join(ids, "|")));
}

/// The highest exit code of the last runs of an experiment's trials, and the number of all runs.
std::pair<int, int> outcome_of_experiment(LoopbackCluster const& cluster, std::string const& id) {
    auto const described =
        nlohmann::json::parse(cluster.shell(fmt::format("det-submit experiment describe {} --json", id)));
    int code = described["state"] == "COMPLETED" ? 0 : 1;
    int runs = 0;
    for (auto const& trial : described["trials"]) {
        runs += static_cast<int>(trial["runs"].size());
        if (trial["runs"].empty()) continue;
        auto const& last = trial["runs"].back()["exit_code"];
        if (last.is_number_integer()) code = std::max(code, last.get<int>());
    }
    return {code, runs};
}

int count_ranks(Files const& files) {
    std::set<std::string> ranks;
    static std::regex const rank(R"(rank \d+ of \d+)");
    for (auto const& [name, text] : files) {
        for (std::sregex_iterator match(text.begin(), text.end(), rank), end; match != end; ++match)
            ranks.insert(match->str());
    }
    return static_cast<int>(ranks.size());
}

}  // namespace

/// Follows the files of a run, and keeps count of what a later start of the job overwrites.
class FileWatch {
public:
    FileWatch(fs::path directory, Files first) : directory_(std::move(directory)), first_(std::move(first)) {}

    /// Reads the files again. Returns the number of lines "step N" so far.
    int update() {
        auto files = changed_files();
        for (auto const& [name, text] : last_) {
            auto const now = files.find(name);
            bool const is_kept = now != files.end() && now->second.starts_with(text);
            if (!is_kept) overwritten_steps_ += count_steps(text);
        }
        last_ = std::move(files);
        return overwritten_steps_ + count_steps(last_);
    }
    Files const& files() const { return last_; }
    bool is_overwritten() const { return overwritten_steps_ > 0; }

private:
    Files changed_files() const {
        auto files = read_files(directory_);
        std::erase_if(files, [&](auto const& file) {
            auto const before = first_.find(file.first);
            return before != first_.end() && before->second == file.second;
        });
        return files;
    }

    fs::path directory_;
    Files first_, last_;
    int overwritten_steps_ = 0;
};

BatchScript::BatchScript(LoopbackCluster const& cluster, fs::path const& script,
                         std::vector<std::string> arguments)
    : cluster_(cluster), name_(script.filename()) {
    for (auto const& argument : arguments) arguments_ += " " + quote_for_shell(argument);
    auto const copy = cluster.shared() / "batch_scripts";
    fs::remove_all(copy);
    fs::copy(fs::absolute(script).parent_path(), copy, fs::copy_options::recursive);
    cluster.shell("mkdir -p batch_scripts");
}

std::string BatchScript::submit(Submission submission, std::string const& directory) const {
    auto const enter =
        fmt::format("cp -r {} {} && cd {} && if [ -e login.sh ]; then source ./login.sh; fi && ",
                    quote_for_shell((cluster_.shared() / "batch_scripts").string()), directory, directory);
    auto const name = quote_for_shell(name_);
    switch (submission) {
        case Submission::sbatch:
            break;
        case Submission::det_option:
        case Submission::requeue:
            return cluster_.shell(fmt::format("{}sed -i '1a #SBATCH {}' {} && sbatch --parsable {}{}", enter,
                                              submission == Submission::requeue ? "--det-requeue" : "--det",
                                              name, name, arguments_));
        case Submission::experiment: {
            auto const created = cluster_.shell(
                fmt::format("{}det-submit experiment create --json {}{}", enter, name, arguments_));
            return std::to_string(nlohmann::json::parse(created)["id"].get<int>());
        }
    }
    return cluster_.shell(fmt::format("{}sbatch --parsable {}{}", enter, name, arguments_));
}

BatchScriptResult BatchScript::run(Submission submission, Disturbance disturbance,
                                   std::chrono::milliseconds silent_time) const {
    static int count = 0;
    auto const directory = fmt::format("batch_scripts/{}", ++count);
    auto const before = last_job_id(cluster_);
    auto const id = submit(submission, directory);
    auto first = read_files(cluster_.shared() / "batch_scripts");
    FileWatch watch(cluster_.home() / directory, std::move(first));
    if (disturbance == Disturbance::preemption) preempt(watch, silent_time);
    cluster_.wait_until(
        [&] {
            watch.update();
            return cluster_.shell("squeue --noheader --user researcher").empty();
        },
        run_limit, name_ + " has ended");

    BatchScriptResult result;
    result.steps = watch.update();
    result.is_overwritten = watch.is_overwritten();
    auto const jobs = jobs_since(cluster_, before);
    auto const ids = pattern_of(jobs, 1), long_ids = pattern_of(jobs, digits_of_id);
    for (auto const& [name, text] : watch.files()) {
        if (name == name_) continue;
        auto& normalised = result.files[without_ids(name, ids)];
        normalised += without_ids_and_labels(text, long_ids);
        boost::replace_all(normalised, (cluster_.home() / directory).string(), "DIRECTORY");
        // Messages of bash name the copy of the script, Slurm's or det-submit's, and a line, of which
        // `#SBATCH
        // --det` is one more.
        static std::regex const copy(R"([^ ]*/(slurm_script|batch_script): line \d+)");
        normalised = std::regex_replace(normalised, copy, "SCRIPT: line N");
        // What Slurm writes when a job is queued again, as that of a script that has submitted its successor.
        static std::regex const requeue(R"(slurmstepd\S*: error: \*\*\* JOB .* DUE TO JOB REQUEUE \*\*\*\n)");
        normalised = std::regex_replace(normalised, requeue, "");
        // torchrun warns now and then of nodes that have ended before others.
        static std::regex const warning(R"(WARNING:torch\.distributed[^\n]*\n)");
        normalised = std::regex_replace(normalised, warning, "");
    }
    result.ranks = count_ranks(result.files);
    for (auto const& job : jobs) {
        result.starts += job.starts;
        result.exit_code = std::max(result.exit_code, job.exit_code);
    }
    if (submission == Submission::experiment)
        std::tie(result.exit_code, result.starts) = outcome_of_experiment(cluster_, id);
    return result;
}

void BatchScript::preempt(FileWatch& watch, std::chrono::milliseconds silent_time) const {
    auto const begun = std::chrono::steady_clock::now();
    cluster_.wait_until(
        [&] {
            auto const steps = watch.update();
            auto const is_silent = steps == 0 && std::chrono::steady_clock::now() - begun > silent_time;
            return steps >= steps_before_preemption || is_silent;
        },
        run_limit, name_ + " trains");
    cluster_.shell("srun --partition urgent --nodes $(sinfo --noheader --format %D --partition urgent) true",
                   120s);
}

}  // namespace det::test
