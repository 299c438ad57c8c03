#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../cluster/site.hpp"
#include "../nfs/nfs_host.hpp"

namespace det::faults {

/// A directory of the site that the login node and some nodes have mounted as NFS clients, each with caches
/// of its own. The campaign itself sees what is on the server.
class SharedNfs {
public:
    static Result<std::unique_ptr<SharedNfs>> mount(Site const& site, std::filesystem::path const& directory,
                                                    std::vector<int> const& nodes);

    /// Loses replies of the server on all hosts. `then`: nothing, repeat, error. Returns how many were lost
    /// so far.
    Result<std::uint64_t> lose_replies(std::string const& then, unsigned percent, std::uint32_t seed);
    /// A power cut: drops what the node has not written to the server, and kills its processes. Returns the
    /// number of bytes that were dropped.
    Result<std::uint64_t> switch_off(std::string const& node);
    /// The node starts again, with empty caches.
    Status switch_on(std::string const& node);

private:
    SharedNfs(Site const& site, std::filesystem::path directory)
        : site_(site), directory_(std::move(directory)) {}
    Status mount_on(std::string const& host);

    Site const& site_;
    std::filesystem::path directory_;
    std::map<std::string, std::unique_ptr<NfsHost>> hosts_;  // ""; the login node
};

}  // namespace det::faults
