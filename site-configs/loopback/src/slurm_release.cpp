#include "slurm_release.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "error_codes.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

constexpr Release known_releases[] = {{"22.05", "bookworm"}, {"24.11", "trixie"}, {"26.05", "sid"}};

constexpr int cannot_make = 77;  // of the script slurm-release
constexpr std::chrono::minutes making_limit{15};

/// Returns VERSION_CODENAME of /etc/os-release, for example "bookworm"; empty if there is none.
std::string debian_release_of_this_machine() {
    constexpr std::string_view key = "VERSION_CODENAME=";
    auto const text = read_file("/etc/os-release").value_or("");
    for (auto const line : split_lines(text)) {
        if (line.starts_with(key)) return std::string(line.substr(key.size()));
    }
    return "";
}

/// Asks "slurmctld -V", which prints "slurm-wlm 22.05.8".
SlurmInstallation find_installed() {
    auto const output = SystemProcessRunner().run({{"slurmctld", "-V"}, Environment::of_this_process()});
    if (!output) return {};  // a missing program is reported with all others
    return {.version = std::string(split(trim(output->out), ' ').back())};
}

Error not_made(Release const& release, ProcessOutput const& output) {
    auto const code = output.exit_code == cannot_make ? codes::no_slurm_release : codes::process;
    auto const lines = split_lines(output.err);
    if (lines.empty()) return Error{code, fmt::format("no Slurm of Debian {}", release.debian)};
    Error error{code, fmt::format("no Slurm of Debian {}: {}", release.debian, lines.back())};
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) error.notes.emplace_back(lines[i]);
    return error;
}

Result<SlurmInstallation> prepare(Release const& release, std::vector<std::string> const& packages,
                                  fs::path const& software) {
    std::vector<std::string> argv{DET_LOOPBACK_SCRIPTS "/slurm-release", software.string(),
                                  std::string(release.debian)};
    argv.insert(argv.end(), packages.begin(), packages.end());
    DET_TRY_ASSIGN(auto const output,
                   SystemProcessRunner().run({argv, Environment::of_this_process(), making_limit}));
    auto const answer = split_lines(output.out);
    if (output.exit_code != 0 || answer.size() != 3) return not_made(release, output);
    return SlurmInstallation{std::string(answer[0]), fs::path(answer[1]), fs::path(answer[2])};
}

}  // namespace

std::span<Release const> releases() { return known_releases; }

SlurmVersion parse_slurm_version(std::string_view text) {
    auto const parts = split(text, '.');
    if (parts.size() < 2) return {};
    return {parse_integer<int>(parts[0]).value_or(0), parse_integer<int>(parts[1]).value_or(0)};
}

fs::path SlurmInstallation::path(std::string_view absolute) const {
    return root.empty() ? fs::path(absolute) : root / fs::path(absolute).relative_path();
}

bool SlurmInstallation::has_program(std::string_view name) const {
    constexpr char const* directories[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                           "/usr/bin",        "/sbin",          "/bin"};
    return std::ranges::any_of(directories, [&](auto const* directory) {
        return ::access(path(fmt::format("{}/{}", directory, name)).c_str(), X_OK) == 0;
    });
}

Result<SlurmInstallation> find_or_build_slurm(std::string_view wanted,
                                              std::vector<std::string> const& packages,
                                              fs::path const& software,
                                              std::function<void(std::string_view)> const& say) {
    if (wanted == installed_slurm) return find_installed();
    auto const found = std::ranges::find(known_releases, wanted, &Release::slurm);
    if (found == std::end(known_releases)) {
        return Error{codes::usage, fmt::format("no release '{}' of Slurm", wanted)};
    }
    if (found->debian == debian_release_of_this_machine()) return find_installed();
    say(fmt::format("preparing Slurm {} (Debian {}), which takes a minute the first time", found->slurm,
                    found->debian));
    return prepare(*found, packages, software);
}

std::string describe(SlurmInstallation const& slurm) {
    if (slurm.root.empty()) return slurm.version;
    return fmt::format("{} (Debian {})", slurm.version, slurm.root.filename().string());
}

}  // namespace det::loopback
