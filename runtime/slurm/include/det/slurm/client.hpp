#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/process.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/partition.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::slurm {

/// What sbatch is asked to run. Options go on its command line, so that no text of a user lands in a script.
struct Submission {
    std::vector<std::string> options;
    std::filesystem::path script;
    Environment environment;  // the job's: exported as it is
};

/// Which jobs a queue reading is about.
struct QueueFilter {
    std::optional<std::string> user = {};
    std::vector<std::uint32_t> jobs = {};  // empty: all
    bool include_finished = false;         // as long as Slurm remembers them (MinJobAge)
};

/// Slurm, as far as we ask it anything. Errors: slurm_refused where it said no, slurm_unreachable where it
/// did not answer; what Slurm said is a note.
class SlurmClient {
public:
    virtual ~SlurmClient() = default;

    /// Whether the job would be accepted, and Slurm's estimate of when it starts ("" where it gives none).
    virtual Result<std::string> test_submission(Submission const& submission) = 0;
    virtual Result<std::uint32_t> submit(Submission const& submission) = 0;
    virtual Status release(std::uint32_t job) = 0;
    virtual Status cancel(JobRef const& job) = 0;

    virtual Result<std::vector<JobStatus>> queue(QueueFilter const& filter) = 0;
    /// Nothing where Slurm does not know it, or has forgotten it.
    virtual Result<std::optional<JobStatus>> find_job(JobRef const& job) = 0;
    virtual Result<std::vector<Partition>> partitions() = 0;

    enum class RequeueScope {
        incomplete,  // leaves a job alone that was cancelled or timed out: atomic in slurmctld
        any,
    };
    virtual Status requeue(JobRef const& job, RequeueScope scope) = 0;
    virtual Status start_not_before(JobRef const& job, std::chrono::seconds from_now) = 0;
};

/// By Slurm's commands: works with every release, and the site's filters and defaults apply.
class CommandClient final : public SlurmClient {
public:
    CommandClient(ProcessRunner& runner, Environment environment);

    Result<std::string> test_submission(Submission const& submission) override;
    Result<std::uint32_t> submit(Submission const& submission) override;
    Status release(std::uint32_t job) override;
    Status cancel(JobRef const& job) override;
    Result<std::vector<JobStatus>> queue(QueueFilter const& filter) override;
    Result<std::optional<JobStatus>> find_job(JobRef const& job) override;
    Result<std::vector<Partition>> partitions() override;
    Status requeue(JobRef const& job, RequeueScope scope) override;
    Status start_not_before(JobRef const& job, std::chrono::seconds from_now) override;

private:
    Result<ProcessOutput> call(std::vector<std::string> argv);
    std::vector<Result<ProcessOutput>> call_all(std::vector<std::vector<std::string>> argvs);
    Result<ProcessOutput> call_sbatch(Submission const& submission, std::vector<std::string> const& extra);

    ProcessRunner& runner_;
    Environment environment_;
};

/// The environment without what would change how Slurm's commands read or print (SQUEUE_FORMAT ...), or would
/// make a new job inherit the shape of the one that we may be in (SLURM_*, SBATCH_*, PMI*).
Environment environment_for_submission(Environment environment);

}  // namespace det::slurm
