#include <det/protocol/json.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

class TrackerStatus final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        auto const client = client::find_tracker(tracker.paths);
        if (!client) {
            session.answer(
                Json{{"running", false}, {"root", tracker.root.path().string()}},
                fmt::format("no tracker of '{}' runs on this host\n", tracker.root.path().string()));
            return ExitCode::could_not;
        }
        DET_TRY_ASSIGN(auto const text, client->get("/v1/tracker"));
        auto json = try_parse_json(text);
        if (!json.is_object()) return Error{codes::transport, "the tracker's answer is not JSON"};
        DET_TRY_ASSIGN(auto const state, client::find_state(tracker.paths));
        json["running"] = true;
        json["socket"] = tracker.paths.socket().string();
        json["token_file"] = state && state->port != 0 ? Json(tracker.paths.state().string()) : Json(nullptr);
        session.answer(json, as_text(json));
        return ExitCode::done;
    }

private:
    static std::string as_text(Json const& json) {
        std::string text;
        for (auto const* name :
             {"root", "socket", "port", "token_file", "pid", "started", "version", "index", "index_error"}) {
            if (!json.contains(name) || json[name].is_null()) continue;
            auto const& value = json[name];
            text += fmt::format("{:<11} {}\n", name,
                                value.is_string() ? value.get<std::string>() : to_line(value));
        }
        return text;
    }
};

}  // namespace

std::unique_ptr<Command> make_tracker_status() { return std::make_unique<TrackerStatus>(); }

}  // namespace det::cli
