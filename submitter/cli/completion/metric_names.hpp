#pragma once
#include <det/protocol/directory_layout.hpp>

#include <set>
#include <string>
#include <vector>

namespace det::cli {

/// The names of metrics that trials have reported, and those of the searchers. Reads at most the first 16 MiB
/// of a journal and 32 MiB in all, of a few trials, and of these only the names, so that completion is fast.
/// \param named ids of experiments and trials ("7", "7.3", "last"); other words don't count. Without one: the
///     newest experiment
std::set<std::string> find_metric_names(RootLayout const& root, std::vector<std::string> const& named);

}  // namespace det::cli
