#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

namespace det::checkpoint {

/// Converts values to and from text, so that ranks can exchange them. Specialisations have
/// `static std::string encode(T const&)` and `static Result<T> decode(std::string const&)`.
template <class T>
struct Codec;
template <>
struct Codec<Ok> {
    static std::string encode(Ok) { return {}; }
    static Result<Ok> decode(std::string const&) { return Ok{}; }
};
template <>
struct Codec<std::vector<CheckpointFile>> {
    static std::string encode(std::vector<CheckpointFile> const& files);
    static Result<std::vector<CheckpointFile>> decode(std::string const& text);
};

enum class Receivers : std::uint8_t { all, chief };

/// Converts a value or an error to text and back. An error keeps its code, message and hint, but not its
/// notes; a code that saving and loading do not use becomes codes::internal.
std::string encode_result(Result<std::string> const& own);
Result<std::string> decode_result(std::string const& text);
/// If there are several ranks, adds a note that names the rank that reported the error.
Error reported_by(std::size_t rank, std::size_t ranks, Error error);

/// Gives the receivers the results of all ranks. Collective.
/// \param own this rank's value, or its error
/// \return one result for each rank, in rank order; empty on ranks that do not receive. An error only if the
///   exchange itself failed
template <class T>
Result<std::vector<Result<T>>> exchange_results(Peers& peers, Result<T> const& own,
                                                Receivers receivers = Receivers::all) {
    auto const text = encode_result(own ? Result<std::string>(Codec<T>::encode(*own)) : own.error());
    DET_TRY_ASSIGN(auto const texts,
                   receivers == Receivers::all ? peers.allgather(text) : peers.gather(text));
    std::vector<Result<T>> results;
    for (auto const& each : texts) {
        auto value = decode_result(each);
        results.push_back(value ? Codec<T>::decode(*value) : Result<T>(std::move(value).error()));
    }
    return results;
}

/// \return all values, or the error of the lowest rank that has one
template <class T>
Result<std::vector<T>> require_all(std::vector<Result<T>> results) {
    std::vector<T> values;
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
        if (!results[rank]) return reported_by(rank, results.size(), std::move(results[rank]).error());
        values.push_back(*std::move(results[rank]));
    }
    return values;
}

/// Gives all ranks the values of all ranks or, if any rank has an error, the error of the lowest such rank.
/// Collective.
template <class T>
Result<std::vector<T>> allgather_values(Peers& peers, Result<T> const& own) {
    DET_TRY_ASSIGN(auto results, exchange_results(peers, own));
    return require_all(std::move(results));
}

/// allgather_values() for ranks that have no value, only success or an error. Collective.
Status agree_on_status(Peers& peers, Status const& own);

}  // namespace det::checkpoint
