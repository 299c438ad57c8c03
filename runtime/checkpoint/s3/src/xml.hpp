#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace det::checkpoint::s3 {

/// The texts of all elements <name>, with entities replaced. Sufficient for S3's responses, in which these
/// elements have no attributes and no nested elements of the same name.
std::vector<std::string> texts_of(std::string_view xml, std::string_view name);
/// The text of the first element <name>, or "".
std::string text_of(std::string_view xml, std::string_view name);

}  // namespace det::checkpoint::s3
