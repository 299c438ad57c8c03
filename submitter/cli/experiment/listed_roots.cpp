#include "experiment/listed_roots.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <latch>
#include <utility>

namespace det::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto foreign_time_max = 2s;
constexpr std::size_t readers_max = 8, experiments_per_reader_min = 8, batch_size = 128;

}  // namespace

struct ListedRoots::ReadRecord {
    Result<tracker::history::ExperimentRecord> record;
    std::vector<Error> damage;  // of its journals, where the record is what is left
};

ListedRoots::ListedRoots(Session& session) : session_(session) {}
ListedRoots::~ListedRoots() = default;

void ListedRoots::add_own(RootLayout const& root) {
    auto own = std::make_unique<ListedRoot>(ListedRoot{root, "", false, session_.open_journals(root)});
    roots_.push_back(std::move(own));
}

void ListedRoots::add(experiment::ForeignRoot const& foreign) {
    auto const layout = foreign.root.for_reading(session_.places);
    auto root = std::make_unique<ListedRoot>(
        ListedRoot{layout, foreign.owner_name, true, session_.open_journals(layout)});
    root->tree = std::make_unique<ForeignTree>(foreign.root.path(), foreign.owner);
    roots_.push_back(std::move(root));
}

// Reading an experiment is about 20 calls to the file system and parsing. On a network file system each call
// waits for a server, so several threads read the user's own experiments: a batch at a time, of which no more
// than the page needs. The files of others are read one experiment after another, because the time that they
// take is limited.
std::vector<ListedRoots::ReadRecord> ListedRoots::read(ListedRoot const& root,
                                                       std::span<ExperimentId const> ids) {
    std::vector<std::optional<ReadRecord>> found(ids.size());
    auto const read_one = [&](std::size_t i) {
        std::vector<Error> damage;
        tracker::history::JournalHistory history(root.layout,
                                                 [&](Error error) { damage.push_back(std::move(error)); });
        auto record = history.load_experiment(ids[i]);
        found[i].emplace(ReadRecord{std::move(record), std::move(damage)});
    };
    if (ids.size() < 2 * experiments_per_reader_min) {
        for (std::size_t i = 0; i < ids.size(); ++i) read_one(i);
    } else {
        if (!readers_) readers_.emplace("det-list", static_cast<int>(readers_max));
        std::latch unread(static_cast<std::ptrdiff_t>(ids.size()));
        for (std::size_t i = 0; i < ids.size(); ++i) {
            readers_->submit([&, i] {
                read_one(i);
                unread.count_down();
            });
        }
        unread.wait();
    }
    std::vector<ReadRecord> records;
    for (auto& each : found) records.push_back(*std::move(each));
    return records;
}

/// How many experiments are read next: as many as the page still needs, if none of them is archived.
std::size_t ListedRoots::next_batch_size(ListedRoot const& root, ListPage const& page) const {
    if (root.is_foreign) return 1;
    if (!page.limit) return batch_size;
    auto const needed = *page.limit - loaded_.size() + page.offset.value_or(0) - skipped_;
    return std::min<std::size_t>(batch_size, needed);
}

Result<bool> ListedRoots::load_root(ListedRoot const& root, ListPage const& page, bool with_archived) {
    DET_TRY_ASSIGN(auto ids, root.history->list_experiments());
    if (page.is_reversed) std::ranges::reverse(ids);
    if (root.is_foreign && !foreign_begin_) foreign_begin_ = session_.clock.steady_now();
    for (std::span<ExperimentId const> rest = ids; !rest.empty();) {
        if (page.limit && loaded_.size() == *page.limit) return false;
        if (root.is_foreign && !session_.has_named_root &&
            session_.clock.steady_now() - *foreign_begin_ > foreign_time_max) {
            unread_roots_.push_back(root.layout.path().string());
            break;
        }
        auto const batch = rest.first(std::min(rest.size(), next_batch_size(root, page)));
        rest = rest.subspan(batch.size());
        auto records = read(root, batch);
        for (std::size_t i = 0; i < batch.size(); ++i)
            add_record(root, batch[i], std::move(records[i]), page, with_archived);
    }
    return true;
}

void ListedRoots::add_record(ListedRoot const& root, ExperimentId id, ReadRecord read, ListPage const& page,
                             bool with_archived) {
    for (auto& damage : read.damage) session_.on_damage(std::move(damage));
    auto& record = read.record;
    if (!record && root.is_foreign && record.error().code == codes::permission) return;
    if (!record) {
        session_.warn(std::move(record).error().while_doing("listing experiment " + to_string(id)));
        return;
    }
    if (!with_archived && tracker::history::attributes_of(*record).is_archived) return;
    if (skipped_ < page.offset.value_or(0)) {
        ++skipped_;
    } else {
        loaded_.push_back({*std::move(record), &root});
    }
}

Result<std::vector<ListedExperiment>> ListedRoots::load_views(ListPage const& page, bool with_archived) {
    for (auto const& root : roots_) {
        auto const has_space = load_root(*root, page, with_archived);
        if (!has_space && !root->is_foreign) return has_space.error();
        if (!has_space)
            session_.warn(Error(has_space.error()).while_doing("listing the root of " + root->owner));
        else if (!*has_space)
            break;
    }
    if (!unread_roots_.empty())
        session_.warn({codes::timed_out,
                       fmt::format("experiments of {} are left out: reading takes too long",
                                   count_text(unread_roots_.size(), "other root")),
                       fmt::format("list them with --root, for example --root '{}'", unread_roots_.front())});
    std::vector<tracker::history::ExperimentRecord> own, others;  // in the order of loaded_
    for (auto& each : loaded_) (each.root->is_foreign ? others : own).push_back(std::move(each.record));
    auto const queue = experiment::query_queue(own, session_, experiment::RecordsOf::this_user);
    auto const queue_of_others =
        experiment::query_queue(others, session_, experiment::RecordsOf::another_user);
    std::vector<ListedExperiment> listed;
    std::size_t next_own = 0, next_other = 0;
    for (auto const& [record, root] : loaded_) {
        listed.push_back({root->is_foreign ? view_experiment(std::move(others[next_other++]), queue_of_others)
                                           : view_experiment(std::move(own[next_own++]), queue),
                          root});
    }
    return listed;
}

}  // namespace det::cli
