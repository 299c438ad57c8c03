#include <det/foundation/files.hpp>
#include <det/journal/rank_ends.hpp>

#include <algorithm>

namespace det::journal {

Result<std::vector<RankEnd>> load_rank_ends(RunLayout const& run) {
    DET_TRY_ASSIGN(auto const names, list_directory(run.path()));
    std::vector<RankEnd> ends;
    for (auto const& name : names) {
        if (!name.starts_with("node-") || !name.ends_with(".ends")) continue;
        DET_TRY_ASSIGN(auto const text, read_file(run.path() / name));
        std::ranges::move(parse_rank_ends(text), std::back_inserter(ends));
    }
    return ends;
}

}  // namespace det::journal
