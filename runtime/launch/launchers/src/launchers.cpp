#include <det/launch/launchers/launchers.hpp>

#include <algorithm>

namespace det::launch::launchers {
namespace {

constexpr Launcher launchers[] = {
    {"torch_distributed", "start the ranks by PyTorch's torch.distributed.run", plan_torch_distributed},
    {"horovod", "start the ranks by horovodrun", plan_horovod},
    {"deepspeed", "start the ranks by DeepSpeed's launcher", plan_deepspeed},
    {"mpi", "start the ranks by Open MPI's mpirun", plan_mpi},
};

}  // namespace

std::span<Launcher const> all_launchers() { return launchers; }

Launcher const* find_launcher(std::string_view name) {
    auto const found = std::ranges::find(launchers, name, &Launcher::name);
    return found == std::end(launchers) ? nullptr : &*found;
}

}  // namespace det::launch::launchers
