#include <fmt/format.h>

#include "command.hpp"
#include "job/move_jobs.hpp"

namespace det::cli {
namespace {

/// Parses "ID.OPERATION=VALUE". Ids have no dots.
Result<MoveRequest> parse_item(std::string const& text) {
    auto const dot = text.find('.');
    auto const equals = text.find('=', dot == std::string::npos ? 0 : dot);
    bool const is_whole = dot != std::string::npos && equals != std::string::npos && dot > 0 &&
                          equals > dot + 1 && equals + 1 < text.size();
    if (!is_whole) {
        return Error{codes::usage, fmt::format("'{}' is not of the form ID.OPERATION=VALUE", text),
                     "for example 12.priority=1 or 12.ahead-of=11"};
    }
    return MoveRequest{text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1)};
}

class JobUpdateBatch final : public Command {
public:
    std::vector<Option> options() override {
        return {{"updates", &texts_, "ID.OPERATION=VALUE ...", Need::required},
                {"--rights", &update_.rights, "owner or operator"},
                {"--dry-run", &update_.is_dry_run, "show the moves, make none"}};
    }

    Outcome run(Session& session) override {
        Diagnostics wrong;
        std::vector<MoveRequest> items;
        for (auto const& text : texts_) {
            auto item = parse_item(text);
            if (item) {
                items.push_back(*std::move(item));
            } else {
                wrong.report(std::move(item).error());
            }
        }
        if (wrong.has_errors()) return wrong;
        return move_jobs(items, update_, session);
    }

private:
    std::vector<std::string> texts_;
    MoveOptions update_;
};

}  // namespace

std::unique_ptr<Command> make_job_update_batch() { return std::make_unique<JobUpdateBatch>(); }

}  // namespace det::cli
