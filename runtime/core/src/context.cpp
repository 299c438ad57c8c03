#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/storage/open_store.hpp>
#include <det/core/context.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/layout.hpp>

#include <fmt/format.h>

#include "connect.hpp"
#include "session.hpp"

namespace det::core {
namespace {

SystemClock system_clock;

Result<std::unique_ptr<checkpoint::Store>> open_store(std::optional<Info> const& info,
                                                      ContextOptions const& options) {
    if (info && info->spec) return checkpoint::storage::open_store(*info->spec, options.environment);
    return std::unique_ptr<checkpoint::Store>(
        std::make_unique<checkpoint::SharedFsStore>(options.checkpoint_path));
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

}  // namespace

struct Context::Parts {
    Parts(Session opened, PreemptMode mode) : session(std::move(opened)), preempt(session, mode) {}
    ~Parts() {
        if (!is_closed) session.distributed.abandon();
    }
    Parts(Parts const&) = delete;
    Parts& operator=(Parts const&) = delete;

    Session session;
    Train train{session};
    Checkpoint checkpoint{session};
    Preempt preempt;
    nlohmann::json const no_hyperparameters = nlohmann::json::object();
    bool is_closed = false;
};

Context::Context(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::init(ContextOptions options) {
    DET_TRY_ASSIGN(auto info, load_info(options.environment));
    DET_TRY_ASSIGN(auto const identity, find_rank_identity(options.environment, info));
    std::optional<journal::JournalWriter> journal;
    if (info && info->trial && identity.rank == 0) {
        DET_TRY_ASSIGN(auto writer, journal::JournalWriter::create(RunLayout(info->run_path).journal()));
        journal.emplace(std::move(writer));
    }
    std::optional<preemption::NoticePage> notice;
    if (info) {
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(info->run_dir / preemption::notice_file));
        notice.emplace(std::move(page));
    }
    DET_TRY_ASSIGN(auto store, open_store(info, options));
    // Connects last, because after that other ranks may wait for this rank.
    DET_TRY_ASSIGN(auto distributed, connect(identity, info, options));
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock;
    return Context(std::make_unique<Parts>(
        Session{clock, std::move(info), std::move(distributed), std::move(store), std::move(journal),
                std::move(notice), find_job_end(options.environment, clock), warning_handler(options)},
        options.preempt_mode));
}

collectives::DistributedContext& Context::distributed() { return parts_->session.distributed; }
Train& Context::train() { return parts_->train; }
Checkpoint& Context::checkpoint() { return parts_->checkpoint; }
Preempt& Context::preempt() { return parts_->preempt; }
Info const* Context::info() const { return parts_->session.info ? &*parts_->session.info : nullptr; }

nlohmann::json const& Context::hyperparameters() const {
    auto const& session = parts_->session;
    return session.in_experiment() ? *session.info->trial->hparams : parts_->no_hyperparameters;
}

Status Context::close() {
    DET_TRY_ASSIGN(auto const ended, parts_->checkpoint.finish());
    DET_TRY(parts_->session.distributed.barrier());
    parts_->is_closed = true;
    for (auto const& save : ended) {
        if (save.error) return *save.error;
    }
    return Ok{};
}

std::optional<std::chrono::steady_clock::time_point> Session::killed_at() const {
    using SteadyTime = std::chrono::steady_clock::time_point;
    auto earliest = job_end;
    auto const mind = [&](std::optional<SteadyTime> notice_came, std::optional<std::uint32_t> left_s) {
        if (!notice_came || !left_s) return;
        auto const end = *notice_came + std::chrono::seconds(*left_s);
        earliest = earliest ? std::min(*earliest, end) : end;
    };
    if (notice && info && info->spec) {
        mind(notice->raised_at_steady(), info->spec->preemption_timeout_s);
        mind(notice->raised_by_slurm_at_steady(), info->spec->notice_s);
    }
    return earliest;
}

Status Session::require_newest() const {
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

Status require_chief(Session const& session, std::string_view call) {
    if (session.distributed.is_chief()) return Ok{};
    return Error{codes::misuse, fmt::format("{} was called on rank {}: only the chief (rank 0) may", call,
                                            session.distributed.rank().value)};
}

}  // namespace det::core
