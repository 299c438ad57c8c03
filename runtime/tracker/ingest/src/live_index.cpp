#include <det/foundation/start_thread.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/live_index.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace det::tracker::ingest {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

/// The data that readers and the thread share.
struct LiveIndex::State {
    explicit State(Settings from) : settings(std::move(from)) {}

    void run(std::stop_token const& stop);
    void poll();
    void refresh(ExperimentId id);
    void refresh_all();
    void publish(Result<bool> const& result);
    /// Waits until the records of the experiment are not older than age_max, at most for `wait_timeout`.
    void wait_for(ExperimentId id);
    /// Waits until the records of all experiments are not older than age_max, at most for `wait_timeout`.
    void wait_for_all();

    Settings settings;
    std::shared_ptr<ChangeTimes> const change_times = std::make_shared<ChangeTimes>();
    std::optional<Ingester> ingester;       // of the thread
    std::optional<index::Database> reader;  // of the thread, for the commit number
    std::atomic<std::int64_t> commit_number = 0;

    mutable std::mutex mutex;
    std::condition_variable_any has_request;
    std::condition_variable has_read;
    std::set<ExperimentId> requested;
    std::map<ExperimentId, Clock::time_point> read_at;  // of those that readers asked for lately
    bool is_all_requested = false;
    std::optional<Clock::time_point> all_read_at;  // when the last reading of all of them began
    std::optional<Error> last_error;
    std::vector<std::unique_ptr<index::IndexHistory>> connections;  // that no reader uses

    std::mutex listener_mutex;  // held while the listener is called
    std::function<void()> listener;

    std::jthread thread;  // last: it ends before the rest is destroyed
};

void LiveIndex::State::publish(Result<bool> const& result) {
    bool has_changed = false;
    {
        std::lock_guard const lock(mutex);
        if (!result) {
            last_error = result.error();
        } else if (!ingester->is_behind()) {
            last_error.reset();
        }
    }
    if (auto const number = index::load_commit_number(*reader)) {
        has_changed = *number != commit_number.exchange(*number);
    }
    if (!has_changed) return;
    std::lock_guard const lock(listener_mutex);
    if (listener) listener();
}

void LiveIndex::State::poll() { publish(ingester->poll(Clock::now())); }

void LiveIndex::State::refresh(ExperimentId id) {
    auto const began = Clock::now();
    publish(ingester->refresh(id, began));
    std::lock_guard const lock(mutex);
    read_at[id] = began;
    has_read.notify_all();
}

void LiveIndex::State::refresh_all() {
    auto const began = Clock::now();
    publish(ingester->refresh_all(began));
    std::lock_guard const lock(mutex);
    all_read_at = began;
    has_read.notify_all();
}

void LiveIndex::State::run(std::stop_token const& stop) {
    auto next_poll = Clock::now();
    while (!stop.stop_requested()) {
        std::set<ExperimentId> wanted;
        bool are_all_wanted = false;
        {
            std::unique_lock lock(mutex);
            has_request.wait_until(lock, stop, next_poll,
                                   [&] { return !requested.empty() || is_all_requested; });
            wanted = std::exchange(requested, {});
            are_all_wanted = std::exchange(is_all_requested, false);
            auto const oldest = Clock::now() - settings.age_max;
            std::erase_if(read_at, [&](auto const& entry) { return entry.second < oldest; });
        }
        if (stop.stop_requested()) return;
        for (auto const id : wanted) refresh(id);
        if (are_all_wanted) refresh_all();
        if (Clock::now() >= next_poll) poll();
        next_poll = ingester->next_poll(Clock::now());
    }
}

void LiveIndex::State::wait_for(ExperimentId id) {
    if (change_times->has(id, ChangeTimes::read(ExperimentLayout(settings.root.experiment(id))))) return;
    std::unique_lock lock(mutex);
    auto const asked = Clock::now();
    auto const is_fresh = [&] {
        auto const found = read_at.find(id);
        return found != read_at.end() && found->second + settings.age_max >= asked;
    };
    if (is_fresh()) return;
    requested.insert(id);
    has_request.notify_one();
    has_read.wait_until(lock, asked + settings.wait_timeout, is_fresh);
}

void LiveIndex::State::wait_for_all() {
    std::unique_lock lock(mutex);
    auto const asked = Clock::now();
    auto const is_fresh = [&] { return all_read_at && *all_read_at + settings.age_max >= asked; };
    if (is_fresh()) return;
    is_all_requested = true;
    has_request.notify_one();
    has_read.wait_until(lock, asked + settings.wait_timeout, is_fresh);
}

LiveIndex::LiveIndex(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}

LiveIndex::~LiveIndex() = default;

Result<std::unique_ptr<LiveIndex>> LiveIndex::open(Settings settings) {
    std::unique_ptr<LiveIndex> live(new LiveIndex(std::move(settings)));
    auto& state = *live->state_;
    auto const& [path, root, age_max, wait_timeout] = state.settings;
    DET_TRY_ASSIGN(auto index, open_or_rebuild_index(path, root));
    state.ingester.emplace(std::move(index), root, state.change_times);
    DET_TRY_ASSIGN(auto reader, index::open_index(path, root.path(), index::Access::read));
    state.reader.emplace(std::move(reader));
    DET_TRY_ASSIGN(auto const number, index::load_commit_number(*state.reader));
    state.commit_number = number;
    state.thread = start_thread("det-ingest", [&state](std::stop_token const& stop) { state.run(stop); });
    return live;
}

Result<std::unique_ptr<index::IndexHistory>> LiveIndex::take_connection() {
    {
        std::lock_guard const lock(state_->mutex);
        if (!state_->connections.empty()) {
            auto connection = std::move(state_->connections.back());
            state_->connections.pop_back();
            return connection;
        }
    }
    auto const& root = state_->settings.root.path();
    DET_TRY_ASSIGN(auto index, index::open_index(state_->settings.path, root, index::Access::read));
    return std::make_unique<index::IndexHistory>(std::move(index), root);
}

void LiveIndex::give_back(std::unique_ptr<index::IndexHistory> connection) {
    std::lock_guard const lock(state_->mutex);
    state_->connections.push_back(std::move(connection));
}

void LiveIndex::set_listener(std::function<void()> listener) {
    std::lock_guard const lock(state_->listener_mutex);
    state_->listener = std::move(listener);
}

std::int64_t LiveIndex::commit_number() const { return state_->commit_number; }

std::optional<Error> LiveIndex::last_error() const {
    std::lock_guard const lock(state_->mutex);
    return state_->last_error;
}

/// Reads from the index; while the index can't be written and so may be out of date, from the journals.
template <class Read>
auto LiveIndex::read(Read&& read_from) -> decltype(read_from(std::declval<history::History&>())) {
    if (last_error()) {
        history::JournalHistory journals(state_->settings.root);
        return read_from(static_cast<history::History&>(journals));
    }
    return with_index([&](history::History& index) { return read_from(index); });
}

Result<std::vector<ExperimentId>> LiveIndex::list_experiments() {
    state_->wait_for({0});  // no experiment has the id 0, so the thread only looks for new ones
    return read([](history::History& history) { return history.list_experiments(); });
}

Result<history::ExperimentRecord> LiveIndex::load_experiment(ExperimentId id) {
    state_->wait_for(id);
    return read([&](history::History& history) { return history.load_experiment(id); });
}

Result<history::ExperimentPage> LiveIndex::list_summaries(history::ExperimentFilter const& filter) {
    state_->wait_for_all();
    return read([&](history::History& history) { return history.list_summaries(filter); });
}

Result<std::vector<history::RunReports>> LiveIndex::load_reports(TrialId id) {
    state_->wait_for(id.experiment);
    return read([&](history::History& history) { return history.load_reports(id); });
}

Result<std::vector<history::RunSeries>> LiveIndex::load_series(TrialId id, std::string const& group,
                                                               std::string const& metric,
                                                               history::SupersededReports superseded) {
    state_->wait_for(id.experiment);
    return read(
        [&](history::History& history) { return history.load_series(id, group, metric, superseded); });
}

Result<std::vector<history::Curve>> LiveIndex::load_curves(TrialId id, history::CurveQuery const& query) {
    state_->wait_for(id.experiment);
    return read([&](history::History& history) { return history.load_curves(id, query); });
}

Result<std::vector<history::Curve>> LiveIndex::load_trial_curves(ExperimentId id, std::uint32_t count,
                                                                 history::CurveQuery const& query) {
    state_->wait_for(id);
    return read([&](history::History& history) { return history.load_trial_curves(id, count, query); });
}

Result<std::vector<history::MetricName>> LiveIndex::list_metrics(TrialId id) {
    state_->wait_for(id.experiment);
    return read([&](history::History& history) { return history.list_metrics(id); });
}

Result<std::vector<history::MetricName>> LiveIndex::list_metrics(ExperimentId id, std::uint32_t count) {
    state_->wait_for(id);
    return read([&](history::History& history) { return history.list_metrics(id, count); });
}

Result<std::vector<history::RunReports>> LiveIndex::load_reports_without_metrics(TrialId id) {
    state_->wait_for(id.experiment);
    return read([&](history::History& history) { return history.load_reports_without_metrics(id); });
}

Result<std::vector<search::RungEntry>> LiveIndex::load_rung(ExperimentId id, std::uint32_t bracket,
                                                            std::uint32_t rung) {
    state_->wait_for(id);
    return read([&](history::History& history) { return history.load_rung(id, bracket, rung); });
}

Result<std::optional<journal::BestValidation>> LiveIndex::load_best_validation(TrialId id,
                                                                               ExperimentSpec const& spec) {
    state_->wait_for(id.experiment);
    return read([&](history::History& history) { return history.load_best_validation(id, spec); });
}

Result<std::vector<std::optional<journal::BestValidation>>> LiveIndex::list_best_validations(
    ExperimentId id, std::uint32_t count, ExperimentSpec const& spec) {
    state_->wait_for(id);
    return read([&](history::History& history) { return history.list_best_validations(id, count, spec); });
}

}  // namespace det::tracker::ingest
