#include <det/experiment/root_directory.hpp>
#include <det/experiment/run_preflight_jobs.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/file_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/container.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using site::Finding;

constexpr int nodes_wanted = 2;  // the network is measured between two
constexpr std::chrono::seconds job_poll_interval{1};
constexpr std::size_t output_limit_bytes = std::size_t{1} << 20;

/// A directory of the root for the files of one command; removed at the end.
class PreflightDirectory {
public:
    static Result<PreflightDirectory> make(RootLayout const& root) {
        auto const path = root.path() / ("preflight-" + make_uuid());
        DET_TRY(make_directories(path));
        return PreflightDirectory(path);
    }
    PreflightDirectory(PreflightDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PreflightDirectory& operator=(PreflightDirectory&&) = delete;
    ~PreflightDirectory() {
        if (!path_.empty()) (void)remove_tree(path_);
    }
    fs::path const& path() const { return path_; }

private:
    explicit PreflightDirectory(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

/// The program that starts containers on the nodes; empty: none, or srun does.
std::string program_of(site::Pool const& pool) {
    if (!pool.container_template)
        return pool.container_runtime == config::ContainerRuntime::none ? "" : pool.container_name();
    auto const& command = pool.container_template->command;
    return command.empty() ? "" : command.front().substr(0, command.front().find(' '));
}

site::PreflightPool describe(site::Pool const& pool, RootLayout const& root) {
    auto const most = pool.nodes_max ? std::min(*pool.nodes_max, pool.node_count) : pool.node_count;
    return {pool.name, std::min(nodes_wanted, most), pool.slot_type != SlotType::cpu && pool.has_gres,
            program_of(pool), root.checkpoints().string()};
}

std::string render_script(site::PreflightPool const& pool, fs::path const& directory,
                          std::string const& token) {
    auto const quoted = [](std::string const& text) { return quote_for_shell(text); };
    return fmt::format(
        "#!/bin/bash\n# A preflight job of det-submit site try: it measures what its nodes see, and ends.\n"
        "srun --nodes={0} --ntasks={0} --ntasks-per-node=1 --kill-on-bad-exit=0 {1} preflight --directory "
        "{2} "
        "--token {3} --storage {4} --container-runtime {5}\n",
        pool.nodes, quoted(sibling_program("det-launch").string()), quoted(directory.string()), quoted(token),
        quoted(pool.storage), quoted(pool.container_runtime == "pyxis" ? "" : pool.container_runtime));
}

std::vector<std::string> submission_options(site::Pool const& pool, site::PreflightPool const& shape,
                                            fs::path const& directory) {
    std::vector<std::string> options{fmt::format("--nodes={}", shape.nodes),
                                     "--ntasks-per-node=1",
                                     "--time=5",
                                     "--job-name=det-site-try",
                                     "--no-requeue",
                                     "--chdir=/",
                                     "--output=" + (directory / "slurm.out").string()};
    if (pool.passes_partition) options.push_back("--partition=" + pool.partition);
    auto const gpu_type = pool.gpu_type ? *pool.gpu_type + ":" : std::string();
    if (shape.has_gpus) options.push_back(fmt::format("--gres=gpu:{}1", gpu_type));
    auto const add = [&](char const* name, std::optional<std::string> const& value) {
        if (value && !value->empty()) options.push_back(fmt::format("--{}={}", name, *value));
    };
    add("qos", pool.qos);
    add("account", pool.account);
    add("reservation", pool.reservation);
    add("constraint", pool.constraint);
    return options;
}

/// A submitted preflight job.
struct PreflightJob {
    PoolPreflight tried;
    fs::path directory;
    bool is_over = false;

    void report(std::string what, std::string why, std::string file = {}, std::string change = {}) {
        tried.findings.push_back({Finding::Severity::change, fmt::format("pool '{}'", tried.pool.name),
                                  std::move(what), std::move(why), std::move(file), std::move(change)});
    }
};

std::string first_words(Error const& error) {
    return error.notes.empty() ? error.message : fmt::format("{}: {}", error.message, error.notes.front());
}

Result<PreflightJob> submit(site::Pool const& pool, RootLayout const& root, fs::path const& all,
                            std::size_t number, Context& context) {
    PreflightJob job{{describe(pool, root), 0, {}, {}}, all / std::to_string(number)};
    DET_TRY(make_directory(job.directory));
    auto const token = make_uuid();
    DET_TRY(write_secret_file(job.directory / preflight_token_file, token));
    DET_TRY(write_secret_file(job.directory / preflight_secret_file, make_uuid() + make_uuid()));
    auto const script = job.directory / "script.sbatch";
    DET_TRY(write_file(script, render_script(job.tried.pool, job.directory, token)));
    auto const submitted = context.slurm.submit(
        {submission_options(pool, job.tried.pool, job.directory), script, context.environment});
    if (submitted) {
        job.tried.job = *submitted;
    } else if (submitted.error().code == codes::slurm_refused) {
        job.report("Slurm refuses a job of two nodes and five minutes", first_words(submitted.error()));
        job.is_over = true;
    } else {
        return submitted.error();
    }
    return job;
}

void read_nodes(PreflightJob& job, site::LoginFacts const& login) {
    for (int i = 0; i < job.tried.pool.nodes; ++i) {
        auto const text = read_file(job.directory / preflight_file_name(static_cast<std::uint32_t>(i)));
        auto facts = text ? parse_preflight_facts(*text) : Result<PreflightFacts>(text.error());
        if (facts) {
            job.tried.nodes.push_back(*std::move(facts));
            continue;
        }
        auto const output = read_file(job.directory / "slurm.out", output_limit_bytes).value_or("");
        auto const said = trim(output);
        job.report(fmt::format("node {} of job {} reported nothing", i, job.tried.job),
                   said.empty() ? "its output did not arrive either: the node may not see DET_ROOT"
                                : std::string(said.substr(0, said.find('\n'))),
                   "the installation", "det-submit and DET_ROOT on a file system that all nodes mount");
    }
    auto const judged = site::judge_preflight(job.tried.pool, login, job.tried.nodes);
    job.tried.findings.insert(job.tried.findings.end(), judged.begin(), judged.end());
}

/// Asks Slurm about the job. Cancels it if it still waits after the deadline.
Status poll(PreflightJob& job, bool is_late, site::LoginFacts const& login, Context& context) {
    DET_TRY_ASSIGN(auto const found, context.slurm.query_job({job.tried.job, {}}));
    if (!found || slurm::is_over(found->state)) {
        job.is_over = true;
        read_nodes(job, login);
    } else if (is_late && found->state == slurm::JobState::pending) {
        DET_TRY(context.slurm.cancel({job.tried.job, {}}));
        job.is_over = true;
        job.report("its preflight job did not start in time and was cancelled",
                   fmt::format("Slurm's reason: {}", found->reason), "the command line",
                   "--timeout with more seconds, or another time");
    }
    return Ok{};
}

/// Submits a job per pool and waits for all of them.
Status run_jobs(std::vector<site::Pool> const& pools, RootLayout const& root, fs::path const& directory,
                std::chrono::seconds start_timeout, Context& context, std::vector<PreflightJob>& jobs) {
    DET_TRY_ASSIGN(auto const clock_offset_us, measure_clock_offset_us(directory));
    site::LoginFacts const login{root.path().string(), file_fingerprint(sibling_program("det-launch")),
                                 clock_offset_us};
    for (auto const& pool : pools) {
        DET_TRY_ASSIGN(auto job, submit(pool, root, directory, jobs.size(), context));
        context.on_message(job.is_over ? fmt::format("pool '{}': refused", pool.name)
                                       : fmt::format("pool '{}': job {}", pool.name, job.tried.job));
        jobs.push_back(std::move(job));
    }
    auto const deadline = context.clock.steady_now() + start_timeout;
    while (!std::ranges::all_of(jobs, &PreflightJob::is_over)) {
        bool const is_late = context.clock.steady_now() >= deadline;
        for (auto& job : jobs) {
            if (!job.is_over) DET_TRY(poll(job, is_late, login, context));
        }
        if (!std::ranges::all_of(jobs, &PreflightJob::is_over)) context.clock.sleep_for(job_poll_interval);
    }
    return Ok{};
}

}  // namespace

Result<std::vector<PoolPreflight>> run_preflight_jobs(std::vector<site::Pool> const& pools,
                                                      RootLayout const& root,
                                                      std::chrono::seconds start_timeout, Context& context) {
    DET_TRY_ASSIGN(auto const directory, PreflightDirectory::make(root));
    std::vector<PreflightJob> jobs;
    if (auto ended = run_jobs(pools, root, directory.path(), start_timeout, context, jobs); !ended) {
        auto error = std::move(ended).error();
        for (auto const& job : jobs) {
            if (job.is_over) continue;
            if (auto const cancelled = context.slurm.cancel({job.tried.job, {}}); !cancelled)
                error.notes.push_back(
                    fmt::format("preflight job {0} may still run: 'scancel {0}' ends it", job.tried.job));
        }
        return error;
    }
    std::vector<PoolPreflight> tried;
    for (auto& job : jobs) tried.push_back(std::move(job.tried));
    return tried;
}

}  // namespace det::experiment
