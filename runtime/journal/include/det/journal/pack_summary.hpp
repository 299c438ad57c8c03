#pragma once
#include <det/foundation/files.hpp>
#include <det/journal/dependencies.hpp>
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

// The head of a packed experiment's file `pack` (../submitter/experiment_pack/FORMAT.md). It has in clear
// text what jobs and commands ask of an experiment that is not their own, so that they need not unpack it.
namespace det::journal {

struct PackSummary {
    ExperimentId experiment;
    std::string spec;                                               // the text of spec.json
    std::map<std::string, std::vector<std::string>> manifest_sums;  // by checkpoint: ManifestSums::find()
    DependencyState state = DependencyState::open;
    std::map<std::uint32_t, DependencyState> trials;
};

/// An open pack whose head was read.
struct PackHead {
    UniqueFd file;
    std::filesystem::path path;  // of the file; not in the experiment's directory if it was packed elsewhere
    PackSummary summary;
    std::uint64_t size_bytes = 0;  // of the head
};

std::string render_pack_head(PackSummary const& summary);

/// Reads the head of a pack. codes::damaged if it is none; codes::newer_format.
/// \param path names the file in messages
Result<PackHead> read_pack_head(UniqueFd file, std::filesystem::path path);
/// Whether bytes are the beginning of a pack.
bool is_pack(std::string_view bytes);

/// Opens the pack of the experiment in `directory`; nullopt if it has none. The pack must belong to this
/// user or root, or in a ForeignTree to its owner, also if a symbolic link leads to it.
/// \return codes::unsafe_owner, and the codes of read_pack_head()
Result<std::optional<PackHead>> open_pack(std::filesystem::path const& directory);

/// Reads the summary of a packed experiment; nullopt if it is not packed. Errors as open_pack().
Result<std::optional<PackSummary>> find_pack_summary(ExperimentLayout const& experiment);

/// The error for a command that needs the files of a packed experiment at their place.
Error packed_error(std::filesystem::path const& directory);
/// codes::experiment_packed if the experiment has a pack in its directory.
Status require_not_packed(ExperimentLayout const& experiment);

/// Checks that the journals of an experiment can be read below this root. codes::experiment_packed if it is
/// packed and the root was not made for reading; the errors of ExperimentPlaces.
Status require_readable(RootLayout const& root, ExperimentId id);

}  // namespace det::journal
