#pragma once
#include <det/protocol/experiment_places.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace det::experiment_pack {

/// Unpacks packed experiments for commands that read, once per pack, into a directory of this user:
/// `unpacked/<sha256 of the pack's index>-<N>-<bytes>/experiments/N`. The directories that were not used for
/// the longest time are removed when they have more than `limit_bytes` together; those used in the last ten
/// minutes stay. A pack in the root of another user is not unpacked if the cache would then have more.
class UnpackedCache final : public ExperimentPlaces {
public:
    static constexpr std::uint64_t limit_bytes_usual = std::uint64_t{4} << 30;

    /// \param cache a directory that only this user can write, made if it is absent; empty: a temporary one,
    ///     which is removed with this object
    explicit UnpackedCache(std::filesystem::path cache, std::uint64_t limit_bytes = limit_bytes_usual);
    ~UnpackedCache() override;

    Result<std::filesystem::path> find(std::filesystem::path const& directory) const override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace det::experiment_pack
