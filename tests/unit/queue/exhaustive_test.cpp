// Compares the planned moves with every possible set of moves, for all small queues.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "check_result.hpp"
#include "queue_support.hpp"

using namespace det;
using namespace det::queue;

namespace exhaustive_test {

/// The numbers of the caller's jobs and of the job `named`, in the order in which Slurm starts them.
std::vector<std::uint32_t> numbers(QueueState const& queue, std::uint32_t named) {
    std::vector<std::uint32_t> list;
    for (auto const& job : in_scheduling_order(queue.jobs, queue.tiers)) {
        if (job.user == "me" || job.ref.job == named) list.push_back(job.ref.job);
    }
    return list;
}

std::vector<std::uint32_t> wanted(std::vector<std::uint32_t> list, Reorder const& reorder) {
    auto const at = [&](std::uint32_t job) { return std::find(list.begin(), list.end(), job); };
    bool const is_ahead = at(reorder.job) < at(reorder.other);
    if (is_ahead == (reorder.side == Reorder::Side::ahead_of)) return list;
    list.erase(at(reorder.job));
    auto const other = at(reorder.other);
    list.insert(reorder.side == Reorder::Side::ahead_of ? other : other + 1, reorder.job);
    return list;
}

/// The smallest number of the caller's jobs whose nice must change, found by exhaustive search; nullopt if
/// the order is impossible.
std::optional<int> fewest_changes(QueueState const& queue, Reorder const& reorder) {
    auto const goal = wanted(numbers(queue, reorder.other), reorder);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < queue.jobs.size(); ++i) {
        if (queue.jobs[i].user == "me") own.push_back(i);
    }
    std::optional<int> fewest;
    for (unsigned set = 0; set < 1u << own.size(); ++set) {
        auto const size = std::popcount(set);
        if (fewest && size >= *fewest) continue;
        std::function<bool(std::size_t, QueueState&)> const try_from = [&](std::size_t i,
                                                                           QueueState& trial) -> bool {
            if (i == own.size()) return numbers(trial, reorder.other) == goal;
            if ((set >> i & 1u) == 0) return try_from(i + 1, trial);
            auto& job = trial.jobs[own[i]];
            auto const before = job;
            auto const base = before.priority + before.nice;
            for (std::int64_t nice = 0; nice < base; ++nice) {
                job.nice = nice;
                job.priority = base - nice;
                if (try_from(i + 1, trial)) return true;
            }
            job = before;
            return false;
        };
        auto trial = queue;
        if (try_from(0, trial)) fewest = size;
    }
    return fewest;
}

int checked = 0, impossible = 0;

void check(QueueState const& queue, Reorder const& reorder) {
    ++checked;
    auto const moves = plan_moves(queue, {.user = "me"}, {reorder});
    auto const fewest = fewest_changes(queue, reorder);
    auto const title = order_of(queue) + ": " + to_string(Request(reorder));
    if (!fewest) {
        ++impossible;
        if (moves || moves.error().code != codes::no_legal_move)
            BOOST_ERROR(title + " can't be, but is planned");
        return;
    }
    if (!moves) {
        BOOST_ERROR(title + " can be, but: " + moves.error().message);
        return;
    }
    if (moves->size() != static_cast<std::size_t>(*fewest))
        BOOST_ERROR(title + " takes " + std::to_string(*fewest) + " changes: " + text_of(*moves));
    for (auto const& move : *moves) {
        auto const& nice = std::get<ChangeNice>(move);
        auto const& job = *std::find_if(queue.jobs.begin(), queue.jobs.end(),
                                        [&](auto const& each) { return each.ref.job == nice.job; });
        bool const is_legal = nice.to >= 0 && job.user == "me" && nice.from == job.nice;
        if (!is_legal) BOOST_ERROR(title + " by an illegal move: " + text_of(*moves));
    }
    auto const after = after_moves(queue, *moves);
    if (numbers(after, reorder.other) != wanted(numbers(queue, reorder.other), reorder))
        BOOST_ERROR(title + " gives " + order_of(after) + ": " + text_of(*moves));
    if (!unfulfilled(after, {reorder}, {.user = "me"}).empty())
        BOOST_ERROR(title + " is not seen to be fulfilled");
}

void check_all_requests(QueueState const& queue) {
    for (auto const& job : queue.jobs) {
        if (job.user != "me") continue;
        for (auto const& other : queue.jobs) {
            if (other.ref == job.ref) continue;
            check(queue, ahead(job.ref.job, other.ref.job));
            check(queue, behind(job.ref.job, other.ref.job));
        }
    }
}

/// Checks every queue of `count` jobs with bases from 1 to `base_max` and smaller nices, both in steps of
/// `step`. The job at index `stranger` belongs to another user.
void check_all_queues(std::size_t count, std::size_t stranger, std::int64_t base_max, std::int64_t step) {
    QueueState queue;
    std::function<void(std::size_t)> const fill = [&](std::size_t i) {
        if (i == count) {
            check_all_requests(queue);
            return;
        }
        for (std::int64_t base = 1; base <= base_max; base += step) {
            for (std::int64_t nice = 0; nice < base; nice += step) {
                queue.jobs.push_back(waiting(static_cast<std::uint32_t>(i + 1), base - nice, nice,
                                             i == stranger ? "you" : "me"));
                fill(i + 1);
                queue.jobs.pop_back();
            }
        }
    };
    fill(0);
}

}  // namespace exhaustive_test

BOOST_AUTO_TEST_SUITE(exhaustive_test)

BOOST_AUTO_TEST_CASE(moves_among_own_jobs_are_minimal) {
    check_all_queues(2, 9, 5, 1);
    check_all_queues(3, 9, 4, 1);
    check_all_queues(4, 9, 5, 2);
    BOOST_TEST(checked > 10'000);
}

BOOST_AUTO_TEST_CASE(jobs_of_other_users_are_passed_only_where_permitted) {
    impossible = 0;
    for (std::size_t stranger = 0; stranger < 3; ++stranger) check_all_queues(3, stranger, 4, 1);
    for (auto const stranger : {std::size_t{1}, std::size_t{3}}) check_all_queues(4, stranger, 5, 2);
    BOOST_TEST(impossible > 1'000);
}

BOOST_AUTO_TEST_SUITE_END()
