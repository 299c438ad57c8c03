#include "shared_nfs.hpp"

#include <fmt/format.h>

namespace det::faults {

Result<std::unique_ptr<SharedNfs>> SharedNfs::mount(Site const& site, std::filesystem::path const& directory,
                                                    std::vector<int> const& nodes) {
    std::unique_ptr<SharedNfs> nfs(new SharedNfs(site, directory));
    DET_TRY(nfs->mount_on(""));
    for (int const node : nodes) DET_TRY(nfs->mount_on(fmt::format("n{}", node)));
    return nfs;
}

Status SharedNfs::mount_on(std::string const& host) {
    // The program opens the directory before it mounts over it.
    auto words = site_.root_command(host);
    auto const program = site_.state() / "software" / "tests" / "faults-nfs-client";
    words.insert(words.end(), {program.string(), directory_.string(), directory_.string()});
    DET_TRY_ASSIGN(hosts_[host], NfsHost::start(words));
    return Ok{};
}

Result<std::uint64_t> SharedNfs::lose_replies(std::string const& then, unsigned percent, std::uint32_t seed) {
    std::uint64_t lost = 0;
    for (auto const& [name, host] : hosts_) {
        DET_TRY_ASSIGN(auto const count, host->lose_replies(then, percent, seed++));
        lost += count;
    }
    return lost;
}

Result<std::uint64_t> SharedNfs::switch_off(std::string const& node) {
    auto const host = hosts_.find(node);
    if (host == hosts_.end()) return Error{codes::misuse, "no such host of the NFS server: " + node};
    DET_TRY_ASSIGN(auto const dropped, host->second->cut_power());
    // Kills the program of the host too, so that processes that wait for it end.
    DET_TRY(site_.control({"node", "off", node}));
    hosts_.erase(host);
    return dropped;
}

Status SharedNfs::switch_on(std::string const& node) {
    DET_TRY(mount_on(node));
    return site_.control({"node", "on", node});
}

}  // namespace det::faults
