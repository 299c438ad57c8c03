#pragma once
#include <string_view>

namespace det::pack {

/// git's wildmatch on a path: * and ? stop at '/', ** that is a whole part does not, [a-z], [!a-z],
/// [[:alpha:]], \ takes the next character as it is. What is malformed matches nothing. Pure; its time is at
/// most the product of the sizes.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace det::pack
