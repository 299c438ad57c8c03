#pragma once
#include <det/foundation/process.hpp>
#include <det/tracker/client/tracker_paths.hpp>
#include <det/tracker/http/client.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace det::tracker::client {

struct StartSettings {
    std::filesystem::path program;  // det-submit
    std::chrono::milliseconds timeout = std::chrono::seconds(20);
    std::optional<std::uint16_t> port = {};  // a tracker that is started listens there too; 0: any free port
    /// The page of the tracker can act. A tracker that runs without actions is stopped first.
    bool needs_actions = false;
};

/// A client of the tracker of this root that runs on this host; nullptr if none answers within the limits,
/// which are those of the client too.
std::unique_ptr<http::Client> find_tracker(TrackerPaths const& paths, http::ClientLimits const& limits = {});

/// Like find_tracker, but starts a tracker if none answers, with `det-submit tracker start`, and waits until
/// it answers. Fails with codes::process and its output, or codes::timed_out.
Result<std::unique_ptr<http::Client>> find_or_start_tracker(Environment const& environment,
                                                            RootLayout const& root,
                                                            StartSettings const& settings,
                                                            ProcessRunner& runner);

}  // namespace det::tracker::client
