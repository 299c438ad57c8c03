#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/storage/open_store.hpp>
#include <det/core/context.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/storage_timeout.hpp>
#include <det/foundation/text.hpp>
#include <det/preemption/term_handler.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/grace_period.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>
#include <limits>
#include <unistd.h>

#include "collective_peers.hpp"
#include "connect.hpp"
#include "context_data.hpp"
#include "partner_messages.hpp"
#include "trial_files.hpp"

namespace det::core {
namespace {

SystemClock system_clock;

Clock& clock_of(ContextOptions const& options) {
    return options.clock != nullptr ? *options.clock : system_clock;
}

Result<std::unique_ptr<checkpoint::Store>> open_store(std::optional<Info> const& info,
                                                      ContextOptions const& options) {
    auto opened = [&]() -> Result<std::unique_ptr<checkpoint::Store>> {
        if (!options.checkpoint_storage->empty())
            return checkpoint::storage::open_store(*options.checkpoint_storage, options.environment);
        if (info && info->spec) return checkpoint::storage::open_store(*info->spec, options.environment);
        return std::unique_ptr<checkpoint::Store>(
            std::make_unique<checkpoint::SharedFsStore>(options.checkpoint_path));
    }();
    if (!opened || !info || !info->spec) return opened;
    checkpoint::storage::compare_with_journals(*info->spec, **opened);
    // The supervisor has looked it up: the ranks of a large run need not all read the journals.
    auto const& cluster = info->cluster;
    if (cluster.latest_checkpoint && cluster.latest_checkpoint_sha256)
        (*opened)->expect_sum(*cluster.latest_checkpoint, *cluster.latest_checkpoint_sha256);
    return opened;
}

/// Converts SLURM_JOB_END_TIME to a time of the steady clock. Ignores an end time in the past, because then
/// the wall clock must be wrong.
std::optional<std::chrono::steady_clock::time_point> find_job_end(Environment const& environment,
                                                                  Clock const& clock) {
    auto const end = parse_integer<std::int64_t>(environment.find("SLURM_JOB_END_TIME").value_or(""));
    if (!end) return std::nullopt;
    auto const left = std::chrono::seconds(*end) - std::chrono::microseconds(clock.now().microseconds);
    return left > left.zero() ? std::optional(clock.steady_now() + left) : std::nullopt;
}

/// The files and the store that a rank has opened.
struct OpenedRun {
    std::optional<Info> info;
    std::optional<journal::JournalWriter> journal;
    std::optional<preemption::NoticePage> notice;
    std::unique_ptr<preemption::TermHandler> term_handler;
    std::unique_ptr<checkpoint::Store> store;
    std::chrono::milliseconds storage_timeout{0};
};

Result<OpenedRun> open_run(std::optional<Info> info, ContextOptions const& options, bool is_chief) {
    OpenedRun run;
    DET_TRY_ASSIGN(run.storage_timeout, find_storage_timeout(options.environment, std::chrono::minutes(5)));
    if (info && info->trial && is_chief) {
        DET_TRY_ASSIGN(auto writer, repeat_write(clock_of(options), {run.storage_timeout}, [&] {
                           return journal::JournalWriter::open(RunLayout(info->run_path).chief_journal());
                       }));
        run.journal.emplace(std::move(writer));
    }
    if (info) {
        auto const path = info->run_dir / preemption::notice_file;
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(path));
        run.notice.emplace(std::move(page));
        // Nothing else ends a program that ignores TERM in a run without a supervisor.
        if (info->trial) {
            DET_TRY_ASSIGN(run.term_handler, preemption::TermHandler::install(path));
        }
    }
    DET_TRY_ASSIGN(run.store, open_store(info, options));
    run.info = std::move(info);
    return Result<OpenedRun>(std::move(run));
}

/// The data of a Context before set_run(), as outside of a run.
ContextData make_context_data(collectives::DistributedContext distributed, ContextOptions const& options) {
    ContextData data{clock_of(options),
                     std::nullopt,
                     std::move(distributed),
                     std::make_unique<checkpoint::SharedFsStore>(options.checkpoint_path),
                     nullptr,
                     std::nullopt};
    data.warn = warning_handler(options);
    return data;
}

/// Makes the event file of the run if slurm.tensorboard is set. If that fails, warns: the journal has all
/// metrics too.
std::optional<telemetry::EventFile> make_event_file(ContextData const& data) {
    if (!data.info->spec->tensorboard) return std::nullopt;
    auto const& info = *data.info;
    auto const time = data.clock.now();
    auto const directory = trial_of(data).event_files();
    // TensorBoard reads the files of a directory in the order of their names.
    auto const path =
        directory / fmt::format("events.out.tfevents.{:010}.{:05}.{}", time.microseconds / 1'000'000,
                                info.trial->trial_run_id, ::getpid());
    auto const resumed_from =
        info.cluster.latest_checkpoint ? std::optional(info.trial->steps_completed) : std::nullopt;
    auto file = [&]() -> Result<telemetry::EventFile> {
        DET_TRY(make_directories(directory));
        return telemetry::EventFile::create(path, time, resumed_from);
    }();
    if (file) return *std::move(file);
    if (data.warn) data.warn(fmt::format("no metrics for TensorBoard: {}", file.error().message));
    return std::nullopt;
}

/// A save that meets a full disk goes on in the background when the disk has room again.
void repeat_writes_of_checkpoints(ContextData& data) {
    WriteRetry retry{data.storage_timeout};
    retry.on_first = [warn = data.warn, timeout = data.storage_timeout](Error const& error) {
        if (warn)
            warn(fmt::format("the checkpoint can't be written now, and is tried again for {} s: {}",
                             std::chrono::duration_cast<std::chrono::seconds>(timeout).count(),
                             error.message));
    };
    data.store->set_write_retry(std::move(retry));
}

void set_run(ContextData& data, OpenedRun run, ContextOptions const& options) {
    data.info = std::move(run.info);
    data.store = std::move(run.store);
    data.storage_timeout = run.storage_timeout;
    repeat_writes_of_checkpoints(data);
    if (run.journal) {
        telemetry::ReporterOptions reporting;
        reporting.warn = data.warn;
        reporting.retry_timeout = data.storage_timeout;
        reporting.event_file = make_event_file(data);
        data.reporter =
            std::make_unique<telemetry::Reporter>(*std::move(run.journal), data.clock, std::move(reporting));
    }
    if (data.in_experiment() && !data.distributed.is_chief()) {
        auto const rank = data.distributed.rank();
        data.rank_reports = std::make_unique<RankReports>(RunLayout(data.info->run_path).rank_journal(rank),
                                                          rank, data.clock, data.storage_timeout, data.warn);
    }
    if (run.notice) data.notice.emplace(*std::move(run.notice));
    data.term_handler = std::move(run.term_handler);
    data.job_end = find_job_end(options.environment, data.clock);
    if (data.in_experiment()) {
        data.memory_place.job = options.environment.find(variables::run_job).value_or("");
        data.memory_place.trial = to_string(data.info->trial->trial);
        data.memory_place.restart_count =
            checkpoint::restart_count_of(options.environment.find(variables::run_key).value_or(""));
        data.memory_place.local_suffix = options.environment.find(variables::local_suffix).value_or("");
        data.switch_name = find_switch_name(options.environment);
    }
}

}  // namespace

struct Context::Parts {
    Parts(ContextData made, ContextOptions given) : data(std::move(made)), options(std::move(given)) {
        begin(options.preempt_mode);
    }
    ~Parts() {
        if (!is_closed) data.distributed.abandon();
    }
    Parts(Parts const&) = delete;
    Parts& operator=(Parts const&) = delete;

    /// Makes preempt and searcher, whose state belongs to the run.
    void begin(PreemptMode mode) {
        preempt.emplace(data, mode);
        searcher.emplace(data);
    }

    ContextData data;
    ContextOptions options;  // with which the ranks were connected
    Train train{data};
    Checkpoint checkpoint{data};
    std::optional<Preempt> preempt;    // made again by join_run()
    std::optional<Searcher> searcher;  // made again by join_run()
    nlohmann::json const no_hyperparameters = nlohmann::json::object();
    std::filesystem::path lost_peer_file;
    bool has_joined_run = false;
    bool is_closed = false;
};

Context::Context(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::init(ContextOptions options) {
    DET_TRY_ASSIGN(auto info, load_info(options.environment));
    DET_TRY_ASSIGN(auto const identity, find_rank_identity(options.environment, info));
    auto lost_peer_file = find_lost_peer_file(info, options.environment);
    DET_TRY_ASSIGN(auto run, open_run(std::move(info), options, identity.rank == 0));
    // Connects last: other ranks may wait for this rank as soon as it is connected.
    DET_TRY_ASSIGN(auto distributed, core::connect({identity, "", ""}, run.info, options));
    auto data = make_context_data(std::move(distributed), options);
    set_run(data, std::move(run), options);
    auto parts = std::make_unique<Parts>(std::move(data), std::move(options));
    parts->lost_peer_file = std::move(lost_peer_file);
    parts->has_joined_run = true;
    return Context(std::move(parts));
}

Result<Context> Context::connect(RankNumbers const& numbers, ContextOptions const& options) {
    auto const& [rank, size, topology] = numbers.identity;
    if (topology.cross_size == 1 && topology.local_size != size) {
        return Error{codes::misuse, fmt::format("rank {} of {} is one of {} ranks of the only node", rank,
                                                size, topology.local_size)};
    }
    DET_TRY_ASSIGN(auto const info, load_info(options.environment));
    DET_TRY_ASSIGN(auto distributed, core::connect(numbers, info, options));
    auto parts = std::make_unique<Parts>(make_context_data(std::move(distributed), options), options);
    parts->lost_peer_file = find_lost_peer_file(info, options.environment);
    return Context(std::move(parts));
}

Status Context::join_run(ContextOptions const& options) {
    auto& data = parts_->data;
    if (parts_->has_joined_run) return Error{codes::misuse, "this context has joined its run already"};
    auto run = [&]() -> Result<OpenedRun> {
        DET_TRY_ASSIGN(auto info, load_info(options.environment));
        return open_run(std::move(info), options, data.distributed.is_chief());
    }();
    CollectivePeers peers(data.distributed);
    DET_TRY(checkpoint::agree_on_status(peers, run ? Status(Ok{}) : Status(run.error())));
    set_run(data, *std::move(run), options);
    parts_->begin(options.preempt_mode);
    parts_->has_joined_run = true;
    return Ok{};
}

Status Context::add_devices(Devices devices) {
    if (devices == Devices::none) return Ok{};
    auto& distributed = parts_->data.distributed;
    if (distributed.device_copies() != nullptr) return Ok{};
    auto const with_devices = open_devices(devices, parts_->options);
    CollectivePeers peers(distributed);
    DET_TRY(checkpoint::agree_on_status(peers, with_devices ? Status(Ok{}) : Status(with_devices.error())));
    distributed.wrap_ranks(*with_devices);
    return Ok{};
}

Context Context::make_subset(collectives::DistributedContext ranks) const {
    auto const& options = parts_->options;
    return Context(std::make_unique<Parts>(make_context_data(std::move(ranks), options), options));
}

Result<Context> Context::local_ranks() {
    DET_TRY_ASSIGN(auto ranks, parts_->data.distributed.local_ranks());
    return make_subset(std::move(ranks));
}

Result<Context> Context::cross_ranks() {
    DET_TRY_ASSIGN(auto ranks, parts_->data.distributed.cross_ranks());
    return make_subset(std::move(ranks));
}

collectives::DistributedContext& Context::distributed() { return parts_->data.distributed; }
Train& Context::train() { return parts_->train; }
Checkpoint& Context::checkpoint() { return parts_->checkpoint; }
Preempt& Context::preempt() { return *parts_->preempt; }
Searcher& Context::searcher() { return *parts_->searcher; }
Info const* Context::info() const { return parts_->data.info ? &*parts_->data.info : nullptr; }

nlohmann::json const& Context::hyperparameters() const {
    auto const& data = parts_->data;
    return data.in_experiment() ? *data.info->trial->hparams : parts_->no_hyperparameters;
}

Status Context::close() {
    DET_TRY_ASSIGN(auto const ended, parts_->checkpoint.finish());
    parts_->checkpoint.finish_in_memory();
    auto const timed = parts_->train.report_timings();
    auto const continued = parts_->data.note_steps(std::numeric_limits<std::uint64_t>::max());
    auto const acknowledged = parts_->data.retry_acknowledgement();
    auto const reported = parts_->data.close_reports();
    DET_TRY(parts_->data.distributed.barrier());
    stop_recording_lost_peers(parts_->lost_peer_file);
    parts_->checkpoint.close_memory();
    parts_->data.term_handler.reset();
    parts_->is_closed = true;
    for (auto const& save : ended) {
        if (save.error) return *save.error;
    }
    DET_TRY(acknowledged);
    DET_TRY(continued);
    return reported ? timed : reported;
}

std::optional<std::chrono::steady_clock::time_point> ContextData::killed_at() const {
    using SteadyTime = std::chrono::steady_clock::time_point;
    auto earliest = job_end;
    auto const mind = [&](std::optional<SteadyTime> notice_came, std::chrono::milliseconds left) {
        if (!notice_came) return;
        auto const end = *notice_came + left;
        earliest = earliest ? std::min(*earliest, end) : end;
    };
    if (notice && info && info->spec) {
        mind(notice->raised_at_steady(), std::chrono::seconds(info->spec->preemption_timeout_s));
        if (info->spec->notice_s) {
            std::chrono::milliseconds const grace = std::chrono::seconds(*info->spec->notice_s);
            mind(notice->raised_by_slurm_at_steady(), grace - grace_margin(grace));
        }
    }
    return earliest;
}

Result<telemetry::Reporter*> ContextData::metrics_reporter() const {
    return rank_reports ? rank_reports->require() : Result<telemetry::Reporter*>(reporter.get());
}

Status ContextData::flush_reports() const {
    if (rank_reports) return rank_reports->flush();
    return reporter ? reporter->flush() : Status(Ok{});
}

Status ContextData::flush_reports_once() const {
    if (rank_reports) return rank_reports->flush_once();
    return reporter ? reporter->flush_once() : Status(Ok{});
}

Status ContextData::close_reports() const {
    if (rank_reports) return rank_reports->close();
    return reporter ? reporter->close() : Status(Ok{});
}

Status ContextData::acknowledge_preemption() {
    if (is_preemption_acknowledged || !reporter) return Ok{};
    auto noticed = notice ? notice->raised_at() : std::nullopt;
    if (!noticed) noticed = preempted_at;  // the notice has reached another node first
    // The record is synced, because NFS may report a full disk only then. Without the record the supervisor
    // takes a run that exits with 0 for a finished one.
    acknowledgement_failed = true;
    DET_TRY(reporter->append(PreemptionAcknowledged{clock.now(), noticed}, Durability::power_loss));
    acknowledgement_failed = false;
    is_preemption_acknowledged = true;
    return Ok{};
}

Status ContextData::retry_acknowledgement() {
    return acknowledgement_failed ? acknowledge_preemption() : Status(Ok{});
}

Status ContextData::require_newest() const {
    if (!in_experiment()) return Ok{};
    DET_TRY_ASSIGN(auto const runs, list_directory(info->run_path.parent_path()));
    for (auto const& name : runs) {
        auto const number = parse_integer<std::uint32_t>(name);
        if (number && *number > info->trial->trial_run_id) {
            return Error{codes::superseded, fmt::format("run {} of this trial has begun elsewhere", *number)};
        }
    }
    return Ok{};
}

Status require_chief(ContextData const& data, std::string_view call) {
    if (data.distributed.is_chief()) return Ok{};
    return Error{codes::misuse, fmt::format("{} was called on rank {}: only the chief (rank 0) may", call,
                                            data.distributed.rank().value)};
}

}  // namespace det::core
