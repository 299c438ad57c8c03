#include <det/slurm/libslurm_client.hpp>

#include "libslurm_process.hpp"
#include "read_with_retries.hpp"

namespace det::slurm {

/// Queries Slurm with libslurm until libslurm turns out to be unusable on this machine.
class LibslurmClient::Reader {
public:
    Reader(Environment environment, Clock& clock, LibslurmOptions options)
        : call_{std::move(options.module), std::move(environment), options.timeout},
          clock_(clock),
          otherwise_(options.otherwise) {}

    /// Empty if commands must be used from now on.
    std::optional<Result<LibslurmAnswer>> ask(det_libslurm_reading reading, QueueFilter const& filter = {}) {
        if (!is_of_use_) return std::nullopt;
        auto answer = read_with_retries(
            clock_, [&] { return ask_libslurm(call_, reading, filter); },
            [](auto const& got) { return !got && got.error().code == codes::slurm_unreachable; });
        is_of_use_ = answer || answer.error().code != codes::slurm_backend ||
                     otherwise_ == LibslurmOptions::Otherwise::error;
        if (!is_of_use_) return std::nullopt;
        return answer;
    }

private:
    LibslurmCall call_;
    Clock& clock_;
    LibslurmOptions::Otherwise otherwise_;
    bool is_of_use_ = true;
};

LibslurmClient::LibslurmClient(ProcessRunner& runner, Environment environment, Clock& clock,
                               LibslurmOptions options)
    : commands_(runner, environment, clock),
      reader_(std::make_unique<Reader>(std::move(environment), clock, std::move(options))) {}

LibslurmClient::~LibslurmClient() = default;

Result<std::vector<JobStatus>> LibslurmClient::queue(QueueFilter const& filter) {
    auto answer = reader_->ask(DET_LIBSLURM_JOBS, filter);
    if (!answer) return commands_.queue(filter);
    DET_TRY(*answer);
    return std::move((*answer)->jobs);
}

Result<std::optional<JobStatus>> LibslurmClient::find_job(JobRef const& job) {
    DET_TRY_ASSIGN(auto jobs, queue({.jobs = {job.job}, .include_finished = true}));
    return pick_job(std::move(jobs), job);
}

Result<std::vector<Partition>> LibslurmClient::partitions() {
    auto answer = reader_->ask(DET_LIBSLURM_PARTITIONS);
    if (!answer) return commands_.partitions();
    DET_TRY(*answer);
    return std::move((*answer)->partitions);
}

Result<std::vector<Node>> LibslurmClient::nodes() {
    auto answer = reader_->ask(DET_LIBSLURM_NODES);
    if (!answer) return commands_.nodes();
    DET_TRY(*answer);
    return std::move((*answer)->nodes);
}

Result<ClusterConfig> LibslurmClient::cluster_config() {
    auto answer = reader_->ask(DET_LIBSLURM_CONFIG);
    if (!answer) return commands_.cluster_config();
    DET_TRY(*answer);
    return parse_cluster_config((*answer)->text);
}

}  // namespace det::slurm
