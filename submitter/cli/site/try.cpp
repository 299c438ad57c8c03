#include <det/experiment/root_directory.hpp>
#include <det/experiment/run_preflight_jobs.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "site/findings.hpp"

namespace det::cli {
namespace {

using experiment::PoolPreflight;

std::string rate_text(double bytes_per_s) {
    // The number comes from a node and may be out of range.
    auto const whole = bytes_per_s > 0 ? static_cast<std::size_t>(std::min(bytes_per_s, 1e18)) : 0;
    return format_size(whole) + "/s";
}

Json as_json(PreflightFacts const& node) {
    return {{"node", node.node},
            {"interfaces", node.interfaces},
            {"network_bytes_per_s", json_or_null(node.bytes_per_s)},
            {"storage_bytes_per_s", node.storage ? Json(node.storage->write_bytes_per_s) : Json(nullptr)},
            {"storage_free_bytes", node.storage ? Json(node.storage->free_bytes) : Json(nullptr)},
            {"clock_offset_us", node.clock_offset_us},
            {"gpus_allocated", node.gpus_allocated},
            {"gpus_visible", node.gpus_visible},
            {"gpu_numa_nodes", node.gpu_numa_nodes},
            {"core_numa_nodes", node.core_numa_nodes},
            {"limits", node.limits},
            {"path", node.path}};
}

Table as_table(std::vector<PoolPreflight> const& pools) {
    Table table(
        {"Resource Pool", "Node", "Interface", "From Peer", "Storage Writes", "Storage Free", "GPUs"});
    for (auto const& tried : pools) {
        for (auto const& node : tried.nodes) {
            auto const& storage = node.storage;
            bool const is_measured = storage && storage->error.empty();
            table.add({tried.pool.name, node.node, node.interfaces,
                       node.bytes_per_s ? rate_text(*node.bytes_per_s) : "",
                       is_measured ? rate_text(storage->write_bytes_per_s) : "",
                       is_measured ? format_size(storage->free_bytes) : "",
                       fmt::format("{}/{}", node.gpus_visible, node.gpus_allocated)});
        }
    }
    return table;
}

class SiteTry final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--pool,--resource-pool", &pools_, "only this pool; may be repeated"},
                {"--timeout",
                 &timeout_s_,
                 "cancel a job that has not started after so many seconds",
                 Need::optional,
                 {},
                 {{1, 86'400}}}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const file, experiment::load_site_file(session.environment));
        DET_TRY(experiment::require_trusted_root(root, experiment::trust_rules(file)));
        DET_TRY_ASSIGN(auto const pools, choose_pools(file, session));
        DET_TRY_ASSIGN(auto const tried, experiment::run_preflight_jobs(
                                             pools, root, std::chrono::seconds(timeout_s_), session));
        std::vector<site::Finding> findings;
        for (auto const& pool : tried)
            findings.insert(findings.end(), pool.findings.begin(), pool.findings.end());
        auto const changes = count_changes(findings);
        if (session.wants_json()) {
            session.answer(to_json(tried, findings));
        } else {
            session.out << as_table(tried).render(answer_style_of(session)) << findings_text(findings)
                        << changes_text(changes) << '\n';
        }
        return changes == 0 ? ExitCode::done : ExitCode::could_not;
    }

private:
    Result<std::vector<site::Pool>, Diagnostics> choose_pools(config::SiteFile const& file,
                                                              Session& session) const {
        DET_TRY_ASSIGN(auto const site, experiment::load_site(file, session));
        std::vector<site::Pool> chosen;
        for (auto const& name : pools_) {
            DET_TRY_ASSIGN(auto pool, site::require_pool(site, {name}));
            chosen.push_back(std::move(pool));
        }
        if (!pools_.empty()) return chosen;
        for (auto const& pool : site.pools) {
            if (pool.is_up) chosen.push_back(pool);
        }
        return chosen;
    }

    static Json to_json(std::vector<PoolPreflight> const& tried, std::vector<site::Finding> const& findings) {
        auto pools = Json::array();
        for (auto const& pool : tried) {
            auto nodes = Json::array();
            for (auto const& node : pool.nodes) nodes.push_back(as_json(node));
            pools.push_back({{"name", pool.pool.name},
                             {"job_id", pool.job == 0 ? Json(nullptr) : Json(std::to_string(pool.job))},
                             {"nodes", std::move(nodes)}});
        }
        return {{"ok", count_changes(findings) == 0},
                {"pools", std::move(pools)},
                {"findings", findings_json(findings)}};
    }

    std::vector<std::string> pools_;
    int timeout_s_ = 300;
};

}  // namespace

std::unique_ptr<Command> make_site_try() { return std::make_unique<SiteTry>(); }

}  // namespace det::cli
