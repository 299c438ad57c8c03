#include <det/protocol/json.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

class TrackerRebuild final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        DET_TRY_ASSIGN(auto const lock, lock_index(tracker));
        auto const begin = session.clock.steady_now();
        DET_TRY(ingest::rebuild_index(tracker.paths.index(), tracker.root));
        std::chrono::duration<double> const took = session.clock.steady_now() - begin;
        std::error_code unknown_size;
        auto const size = std::filesystem::file_size(tracker.paths.index(), unknown_size);
        auto const path = tracker.paths.index().string();
        session.answer(Json{{"index", path}, {"size_bytes", size}, {"seconds", took.count()}},
                       fmt::format("rebuilt '{}' in {:.1f} s\n", path, took.count()));
        return ExitCode::done;
    }
};

}  // namespace

std::unique_ptr<Command> make_tracker_rebuild() { return std::make_unique<TrackerRebuild>(); }

}  // namespace det::cli
