#pragma once
#include <det/sampler/decision.hpp>
#include <det/search/space.hpp>

#include <string_view>

namespace det::sampler {

/// The version of the protocol in PROTOCOL.md.
inline constexpr int protocol_version = 1;
/// The longest line of a request or an answer.
inline constexpr std::size_t line_limit_bytes = std::size_t{1} << 20;

/// Parses what a sampler has written: one line. Pure.
/// \param question an answer to `begin` has hyperparameters or `stop`, one to `report` has neither
/// \param space the configured hyperparameters. Those that the answer leaves out must be constants; a value
///     must lie in its range
/// \param sets_lengths searcher.sets_lengths: otherwise lengths and what belongs to them is passed over
/// \return codes::bad_value if it is no such line, codes::newer_format if it is of another version of the
///     protocol
Result<Answer> parse_answer(std::string_view output, Question question, search::Space const& space,
                            bool sets_lengths = false);

}  // namespace det::sampler
