#include <det/queue/fold_jobs.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace det::queue {
namespace {

using slurm::JobRef;
using slurm::JobStatus;

/// Jobs with equal keys are one group. The user is part of it, because any user can write any comment.
using GroupKey = std::tuple<std::string, std::string, std::uint32_t>;

GroupKey group_key(JobStatus const& job) {
    bool const is_of_experiment = slurm::parse_experiment_comment(job.comment).has_value();
    return is_of_experiment ? GroupKey{job.user, job.comment, 0} : GroupKey{job.user, "", job.ref.job};
}

using RefIterator = std::vector<JobRef>::const_iterator;

/// \return The end of the range of consecutive tasks that begins at `first`.
RefIterator end_of_range(RefIterator first, RefIterator end) {
    auto last = first;
    while (last + 1 != end && *(last + 1)->task == *last->task + 1) ++last;
    return last + 1;
}

/// \pre All refs have the same job number and a task.
std::string tasks_text(RefIterator first, RefIterator end) {
    if (end - first == 1) return slurm::to_string(*first);
    std::string ranges;
    for (auto at = first; at != end;) {
        auto const next = end_of_range(at, end);
        if (!ranges.empty()) ranges += ',';
        ranges += std::to_string(*at->task);
        if (next - at > 1) ranges += fmt::format("-{}", *(next - 1)->task);
        at = next;
    }
    return fmt::format("{}_[{}]", first->job, ranges);
}

}  // namespace

std::vector<std::vector<std::size_t>> fold_jobs(std::vector<JobStatus const*> const& jobs) {
    std::vector<std::vector<std::size_t>> groups;
    std::map<GroupKey, std::size_t> group_of;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto const [found, is_new] = group_of.try_emplace(group_key(*jobs[i]), groups.size());
        if (is_new) groups.emplace_back();
        groups[found->second].push_back(i);
    }
    return groups;
}

std::string compress_job_refs(std::vector<JobRef> refs) {
    std::ranges::sort(refs);
    refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
    std::string text;
    for (auto at = refs.cbegin(); at != refs.cend();) {
        auto const is_same = [&](JobRef const& ref) { return at->task && ref.job == at->job; };
        auto const end = at->task ? std::find_if_not(at, refs.cend(), is_same) : at + 1;
        if (!text.empty()) text += ',';
        text += at->task ? tasks_text(at, end) : slurm::to_string(*at);
        at = end;
    }
    return text;
}

}  // namespace det::queue
