#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/history.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace det::tracker::history {

/// A History of a root without experiments.
struct HistoryTarget {
    RootLayout root;
    History& history;
    /// Makes the history see all that was written. Nothing to do for one that reads the files at every call.
    std::function<Status()> refresh = [] { return Status(Ok{}); };
};

/// Test cases for every implementation of History. Each case needs a root of its own.
struct HistoryCase {
    std::string_view name;
    Status (*run)(HistoryTarget& target);
};

std::span<HistoryCase const> history_cases();

}  // namespace det::tracker::history
