#include "experiment/listed_roots.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace det::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto foreign_time_max = 2s;

}  // namespace

void ListedRoots::add_own(RootLayout const& root) {
    auto own = std::make_unique<ListedRoot>(ListedRoot{root, "", false, session_.open_journals(root)});
    roots_.push_back(std::move(own));
}

void ListedRoots::add(experiment::ForeignRoot const& foreign) {
    auto root = std::make_unique<ListedRoot>(
        ListedRoot{foreign.root, foreign.owner_name, true, session_.open_journals(foreign.root)});
    root->tree = std::make_unique<ForeignTree>(foreign.root.path(), foreign.owner);
    roots_.push_back(std::move(root));
}

Result<bool> ListedRoots::load_root(ListedRoot const& root, ListPage const& page, bool with_archived) {
    DET_TRY_ASSIGN(auto ids, root.history->list_experiments());
    if (page.is_reversed) std::ranges::reverse(ids);
    if (root.is_foreign && !foreign_begin_) foreign_begin_ = session_.clock.steady_now();
    for (auto const id : ids) {
        if (page.limit && loaded_.size() == *page.limit) return false;
        if (root.is_foreign && !session_.has_named_root &&
            session_.clock.steady_now() - *foreign_begin_ > foreign_time_max) {
            unread_roots_.push_back(root.layout.path().string());
            break;
        }
        auto record = root.history->load_experiment(id);
        if (!record && root.is_foreign && record.error().code == codes::permission) continue;
        if (!record) {
            session_.warn(std::move(record).error().while_doing("listing experiment " + to_string(id)));
            continue;
        }
        if (!with_archived && tracker::history::attributes_of(*record).is_archived) continue;
        if (skipped_ < page.offset.value_or(0)) {
            ++skipped_;
        } else {
            loaded_.push_back({*std::move(record), &root});
        }
    }
    return true;
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
