#include <det/protocol/host_list.hpp>
#include <det/protocol/run_shape.hpp>

namespace det {

TrialShape shape_of_run(ExperimentSpec const& spec, RunStarted const& started) {
    auto shape = spec.shape;
    if (!spec.is_elastic()) return shape;
    // An unreadable list of hosts says nothing: then the largest shape is the best guess.
    auto const hosts = expand_host_list(started.hosts);
    if (hosts && !hosts->empty()) shape.nodes = static_cast<int>(hosts->size());
    if (started.slots_per_node > 0) shape.slots_per_node = static_cast<int>(started.slots_per_node);
    return shape;
}

std::optional<std::int64_t> slots_of(RunStarted const& started) {
    auto const hosts = expand_host_list(started.hosts);
    if (!hosts || hosts->empty() || started.slots_per_node == 0) return std::nullopt;
    return static_cast<std::int64_t>(hosts->size()) * started.slots_per_node;
}

}  // namespace det
