#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/history.hpp>
#include <det/tracker/index/index_history.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace det::tracker::ingest {

/// The index of a root and the thread that keeps it up to date. A thread-safe History: each function first
/// lets the thread read what is new of the experiment. While the index can't be written (last_error()), the
/// answers come from the journals.
class LiveIndex final : public history::History {
public:
    struct Settings {
        std::filesystem::path path;  // of the index
        RootLayout root;
        /// A record may be this old when a reader gets it, and older if reading takes longer than
        /// `wait_timeout`.
        std::chrono::milliseconds age_max{1000};
        std::chrono::milliseconds wait_timeout{2000};
    };

    /// Opens or creates the index; makes it anew if it is damaged, of another version or of another root.
    /// Only one process at a time may do so. Starts the thread.
    static Result<std::unique_ptr<LiveIndex>> open(Settings settings);
    ~LiveIndex() override;

    Result<std::vector<ExperimentId>> list_experiments() override;
    Result<history::ExperimentRecord> load_experiment(ExperimentId id) override;
    Result<history::ExperimentPage> list_summaries(history::ExperimentFilter const& filter) override;
    Result<std::vector<history::RunReports>> load_reports(TrialId id) override;
    Result<std::vector<search::RungEntry>> load_rung(ExperimentId id, std::uint32_t bracket,
                                                     std::uint32_t rung) override;
    Result<std::optional<journal::BestValidation>> load_best_validation(TrialId id,
                                                                        ExperimentSpec const& spec) override;
    Result<std::vector<std::optional<journal::BestValidation>>> list_best_validations(
        ExperimentId id, std::uint32_t count, ExperimentSpec const& spec) override;
    Result<std::vector<history::RunSeries>> load_series(TrialId id, std::string const& group,
                                                        std::string const& metric,
                                                        history::SupersededReports superseded) override;

    Result<std::vector<history::Curve>> load_curves(TrialId id, history::CurveQuery const& query) override;
    Result<std::vector<history::Curve>> load_trial_curves(ExperimentId id, std::uint32_t count,
                                                          history::CurveQuery const& query) override;
    Result<std::vector<history::MetricName>> list_metrics(TrialId id) override;
    Result<std::vector<history::MetricName>> list_metrics(ExperimentId id, std::uint32_t count) override;
    Result<std::vector<history::RunReports>> load_reports_without_metrics(TrialId id) override;

    /// Calls `read(IndexHistory&)` with a connection that no other thread uses and returns its Result.
    template <class Read>
    auto with_index(Read&& read) -> decltype(read(std::declval<index::IndexHistory&>())) {
        DET_TRY_ASSIGN(auto connection, take_connection());
        auto result = read(*connection);
        give_back(std::move(connection));
        return result;
    }

    /// The thread calls `listener` when the index has changed, once for the transactions of one reading;
    /// commit_number() has the new number then. Replaces the listener before, which is not called any more
    /// once this returns. Empty: none. The listener must not call set_listener().
    void set_listener(std::function<void()> listener);
    /// The number of the last transaction that the thread has seen.
    std::int64_t commit_number() const;
    /// Why the thread could not write the index at its last attempt, or nullopt. It goes on trying.
    std::optional<Error> last_error() const;

private:
    explicit LiveIndex(Settings settings);
    template <class Read>
    auto read(Read&& read_from) -> decltype(read_from(std::declval<history::History&>()));
    Result<std::unique_ptr<index::IndexHistory>> take_connection();
    void give_back(std::unique_ptr<index::IndexHistory> connection);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace det::tracker::ingest
