#pragma once
#include <string_view>

namespace det::pack {

/// Matches a path with a glob as git's wildmatch does: * and ? do not match '/', ** does if it is a whole
/// part of the path; [a-z], [!a-z], [[:alpha:]] match a character of a set; \ escapes the next character. A
/// malformed pattern matches nothing. Pure. The run time is at most proportional to the product of the sizes.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace det::pack
