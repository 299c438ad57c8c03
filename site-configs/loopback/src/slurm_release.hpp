#pragma once
#include <det/foundation/result.hpp>

#include <compare>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::loopback {

/// A release of Slurm, and the release of Debian that packages it.
struct Release {
    std::string_view slurm;
    std::string_view debian;
};
std::span<Release const> releases();

/// The value of --slurm for the Slurm that is installed on this machine.
inline constexpr char const* installed_slurm = "installed";

struct SlurmVersion {
    int major = 0;
    int minor = 0;
    friend auto operator<=>(SlurmVersion const&, SlurmVersion const&) = default;
};
/// Parses "24.11.5". Returns 0.0 for other text.
SlurmVersion parse_slurm_version(std::string_view text);

/// The Slurm that a cluster runs.
struct SlurmInstallation {
    std::string version = {};         // "24.11.5"
    std::filesystem::path root = {};  // the root file system that contains it; empty: this machine's
    std::filesystem::path parts =
        {};  // our plugin and libslurm module for it; empty: those of the build tree

    /// Returns the path of a file of the root file system, as this machine sees it.
    std::filesystem::path path(std::string_view absolute) const;
    bool has_program(std::string_view name) const;
};

/// Finds the Slurm that `wanted`, a value of --slurm, names. If that is the Slurm of another Debian release
/// than this machine's, makes a root file system of that release, which may take minutes. Fails with
/// codes::usage if `wanted` is unknown, with codes::no_slurm_release if this machine can't make the root file
/// system, and with codes::process if making it fails for another reason.
///
/// \param packages  Debian packages that the root file system must contain, in addition to Slurm's
/// \param software  the build tree; the plugin and the module for the release are built below it
/// \param say       receives progress for the user
Result<SlurmInstallation> find_or_build_slurm(std::string_view wanted,
                                              std::vector<std::string> const& packages,
                                              std::filesystem::path const& software,
                                              std::function<void(std::string_view)> const& say);

/// Returns "24.11.5 (Debian trixie)" or "22.05.8".
std::string describe(SlurmInstallation const& slurm);

}  // namespace det::loopback
