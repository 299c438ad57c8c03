
#include <fmt/format.h>

#include "command.hpp"
#include "job/move_jobs.hpp"

namespace det::cli {
namespace {

class JobUpdate final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the job", Need::required},
                {"-p,--priority", &priority_, "1 (most urgent) to 99"},
                {"-w,--weight", &weight_, "refused: Slurm has none"},
                {"--resource-pool", &pool_, "the pool that it is to run in"},
                {"--ahead-of", &ahead_of_, "the job that it is to come before"},
                {"--behind-of", &behind_of_, "the job that it is to come after"},
                {"--rights", &update_.rights, "owner or operator"},
                {"--dry-run", &update_.is_dry_run, "show the moves, make none"}};
    }

    Outcome run(Session& session) override {
        std::vector<MoveRequest> items;
        auto const add = [&](std::string operation, std::optional<std::string> const& value) {
            if (value) items.push_back({id_, std::move(operation), *value});
        };
        add("priority", priority_);
        add("weight", weight_);
        add("resource-pool", pool_);
        add("ahead-of", ahead_of_);
        add("behind-of", behind_of_);
        if (items.size() != 1) {
            return Error{
                codes::usage, fmt::format("{} changes are asked for: an update is exactly one", items.size()),
                "give one of --priority, --resource-pool, --ahead-of, --behind-of; several jobs: 'det-submit "
                "job "
                "update-batch'"};
        }
        return move_jobs(items, update_, session);
    }

private:
    std::string id_;
    std::optional<std::string> priority_, weight_, pool_, ahead_of_, behind_of_;
    MoveOptions update_;
};

}  // namespace

std::unique_ptr<Command> make_job_update() { return std::make_unique<JobUpdate>(); }

}  // namespace det::cli
