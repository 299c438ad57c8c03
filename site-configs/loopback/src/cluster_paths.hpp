#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::loopback {

inline constexpr char const* default_base = "/var/lib/det-loopback";
inline constexpr char const* default_name = "default";

// clang-format off
/// The file paths of one cluster.
///
///     etc/                          slurm.conf, gres.conf, cgroup.conf, plugstack.conf, munge.key
///     etc-changes/                  hosts, passwd and group, which differ from the host's /etc
///     etc-scratch/                  work directory of the overlayfs over /etc
///     run/                          record of the init process, control socket, munge socket
///     log/  spool/  ctld/  cgroup/
///     database/                     of slurmdbd, with profile accounting
///     dev/gpu0 ...
///     nodes/<host>/{tmp,var-tmp}    mounted on each host as /tmp and /var/tmp
///     shared/                       the shared file system: home/researcher, det (DET_ROOT)
///     software/                     the build tree, bind-mounted so that plain users can read it
// clang-format on
class ClusterPaths {
public:
    /// Fails if `name` is not a valid cluster name, or if the path of a socket would be too long.
    static Result<ClusterPaths> make(std::filesystem::path const& base, std::string name);

    std::string const& name() const { return name_; }
    std::filesystem::path const& base() const { return base_; }
    std::filesystem::path state() const { return base_ / name_; }
    std::filesystem::path lock() const { return base_ / (name_ + ".lock"); }

    std::filesystem::path etc() const { return state() / "etc"; }
    std::filesystem::path slurm_conf() const { return etc() / "slurm.conf"; }
    std::filesystem::path etc_changes() const { return state() / "etc-changes"; }
    std::filesystem::path etc_scratch() const { return state() / "etc-scratch"; }
    std::filesystem::path run() const { return state() / "run"; }
    std::filesystem::path record() const { return run() / "init"; }
    std::filesystem::path control() const { return run() / "control"; }
    std::filesystem::path munge_socket() const { return run() / "munge.sock"; }
    std::filesystem::path mariadb_socket() const { return run() / "mariadb.sock"; }
    std::filesystem::path log() const { return state() / "log"; }
    std::filesystem::path spool() const { return state() / "spool"; }
    std::filesystem::path ctld() const { return state() / "ctld"; }
    std::filesystem::path cgroup() const { return state() / "cgroup"; }
    std::filesystem::path database() const { return state() / "database"; }
    std::filesystem::path dev() const { return state() / "dev"; }
    std::filesystem::path host(std::string const& host_name) const { return state() / "nodes" / host_name; }
    std::filesystem::path shared() const { return state() / "shared"; }
    std::filesystem::path home(std::string const& user) const { return shared() / "home" / user; }
    std::filesystem::path det_root() const { return shared() / "det"; }
    std::filesystem::path software() const { return state() / "software"; }

    /// Name of the cluster's group in the freezer hierarchy of the machine.
    std::string cgroup_name() const;

private:
    ClusterPaths(std::filesystem::path base, std::string name)
        : base_(std::move(base)), name_(std::move(name)) {}

    std::filesystem::path base_;
    std::string name_;
};

/// Returns all clusters below `base`, running or not.
Result<std::vector<ClusterPaths>> find_clusters(std::filesystem::path const& base);

/// "n0", "n1" ...: the NodeName and the host name.
std::string node_name(int index);
inline constexpr char const* controller_host = "ctl";
inline constexpr char const* login_host = "login";

}  // namespace det::loopback
