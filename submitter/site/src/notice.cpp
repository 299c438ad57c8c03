#include <det/site/notice.hpp>

namespace det::site {

std::optional<std::uint32_t> notice_time(Pool const& pool) {
    if (pool.grace_time.count() <= 0) return std::nullopt;
    return static_cast<std::uint32_t>(pool.grace_time.count());
}

std::optional<std::uint32_t> notice_time(Pool const& pool, slurm::ClusterConfig const& config) {
    bool const by_partition =
        config.find("PreemptType").value_or("").ends_with("partition_prio") && pool.preempt_mode != "OFF";
    if (!by_partition) return std::nullopt;
    if (auto const grace = notice_time(pool)) return grace;
    auto const kill_wait = config.find_number("KillWait");
    return kill_wait ? std::optional(static_cast<std::uint32_t>(*kill_wait)) : std::nullopt;
}

}  // namespace det::site
