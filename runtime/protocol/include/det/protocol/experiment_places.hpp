#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det {

/// Where the files of an experiment are read. `experiment archive --pack` replaces them by one file, from
/// which a program that reads experiments unpacks them into a directory of its own.
class ExperimentPlaces {
public:
    virtual ~ExperimentPlaces() = default;

    /// Returns `directory` itself if it has no file `pack`, else a directory with the files from that pack.
    ///
    /// \param directory `experiments/N` of a root
    /// \return an error if the pack can't be read or is damaged, or if the files can't be written
    /// Thread safety: any thread may call it.
    virtual Result<std::filesystem::path> find(std::filesystem::path const& directory) const = 0;
};

}  // namespace det
