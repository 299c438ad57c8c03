#pragma once
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/thread_pool.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// Which of the experiments to list, in their order. Limit and offset count archived experiments only if
/// these are listed.
struct ListPage {
    std::optional<std::uint32_t> limit, offset;
    bool is_reversed = false;
};

/// A root whose experiments are listed.
struct ListedRoot {
    RootLayout layout;
    std::string owner;  // set for a foreign one
    bool is_foreign = false;
    std::shared_ptr<tracker::history::JournalHistory> history;
    std::unique_ptr<ForeignTree> tree = {};  // of a foreign one
};

struct ListedExperiment {
    tracker::history::ExperimentView view;
    ListedRoot const* root;
};

/// The roots of one list. It must outlive the listed experiments.
class ListedRoots {
public:
    explicit ListedRoots(Session& session);
    ~ListedRoots();
    ListedRoots(ListedRoots const&) = delete;
    ListedRoots& operator=(ListedRoots const&) = delete;

    void add_own(RootLayout const& root);
    void add(experiment::ForeignRoot const& foreign);

    /// Loads the experiments of the page, root after root. Asks Slurm once for the jobs of this user and once
    /// for those of others. Warns about an experiment that can't be read and leaves it out; an experiment
    /// that another user keeps to himself is left out silently. Reads the roots of other users for two
    /// seconds at most, unless --root names one, because their files may be made to take long.
    Result<std::vector<ListedExperiment>> load_views(ListPage const& page, bool with_archived);

private:
    struct Loaded {
        tracker::history::ExperimentRecord record;
        ListedRoot const* root;
    };
    struct ReadRecord;

    /// Returns false once the page is full.
    Result<bool> load_root(ListedRoot const& root, ListPage const& page, bool with_archived);
    std::size_t next_batch_size(ListedRoot const& root, ListPage const& page) const;
    std::vector<ReadRecord> read(ListedRoot const& root, std::span<ExperimentId const> ids);
    void add_record(ListedRoot const& root, ExperimentId id, ReadRecord read, ListPage const& page,
                    bool with_archived);

    Session& session_;
    std::vector<std::unique_ptr<ListedRoot>> roots_;
    std::vector<Loaded> loaded_;
    std::uint32_t skipped_ = 0;
    std::optional<std::chrono::steady_clock::time_point> foreign_begin_;  // of reading roots of other users
    std::optional<ThreadPool> readers_;
    std::vector<std::string> unread_roots_;  // of other users, that were not read to their end
};

}  // namespace det::cli
