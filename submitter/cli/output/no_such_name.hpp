#pragma once
#include <det/foundation/error.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace det::codes {

inline constexpr ErrorCode no_such_metric{"no-such-metric", ExitCode::absent};
inline constexpr ErrorCode no_such_rank{"no-such-rank", ExitCode::absent};
inline constexpr ErrorCode no_such_node{"no-such-node", ExitCode::absent};

}  // namespace det::codes

namespace det::cli {

/// The error of a name that a user typed and that does not exist: "there is no metric 'los' in trial 7.0".
/// The hint is the most similar name and those that there are.
///
/// \param kind of thing: "metric"
/// \param place where it was looked for: "trial 7.0"
Error no_such_name(ErrorCode code, std::string_view kind, std::string_view typed, std::string_view place,
                   std::set<std::string> const& names);

/// "trial 7.0 has no rank 9", with its ranks as the hint.
Error no_such_rank(TrialId trial, std::int64_t rank, TrialShape const& shape);

}  // namespace det::cli
