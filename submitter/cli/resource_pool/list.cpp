#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "resource_pool/pool_view.hpp"

namespace det::cli {
namespace {

class ResourcePoolList final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const views, load_pools(session));
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& view : views) answer.push_back(to_json(view));
            session.answer(answer);
        } else {
            print_table(session, as_table(views));
        }
        return ExitCode::done;
    }

private:
    static Table as_table(std::vector<PoolView> const& views) {
        Table table({"Name", "Default", "Partition", "Type", "Slots/Node", "Slots (used/total)",
                     "Nodes (free/out/total)", "Preemption", "Grace", "Waiting", "Running"},
                    {"Grace", "Slots/Node", "Partition", "Default", "Type", "Preemption"});
        for (auto const& [pool, use] : views) {
            table.add({pool.name, default_words(pool), pool.partition, type_words(pool),
                       slots_per_node_text(pool), fmt::format("{}/{}", use.slots_used, use.slots),
                       fmt::format("{}/{}/{}", use.nodes_free, use.nodes_out, use.nodes),
                       pool.is_up ? preempt_mode_of(pool) : "DOWN", fmt::format("{} s", grace_time_of(pool)),
                       std::to_string(use.jobs_waiting), std::to_string(use.jobs_running)});
        }
        return table;
    }
};

}  // namespace

std::unique_ptr<Command> make_resource_pool_list() { return std::make_unique<ResourcePoolList>(); }

}  // namespace det::cli
