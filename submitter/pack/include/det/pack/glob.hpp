#pragma once
#include <string_view>

namespace det::pack {

/// git's wildmatch on a path: * and ? stop at '/', ** that is a whole part does not, [a-z], [!a-z],
/// [[:alpha:]], \ escapes the next character. A malformed pattern matches nothing. Pure. The run time is at
/// most proportional to the product of the sizes.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace det::pack
