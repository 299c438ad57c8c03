#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace det::checkpoint::s3 {

/// What lies between <name> and </name>, each time, with entities replaced. S3's answers nest no element in
/// one of its own name, and have no attributes there.
std::vector<std::string> texts_of(std::string_view xml, std::string_view name);
/// The first, or nothing.
std::string text_of(std::string_view xml, std::string_view name);

}  // namespace det::checkpoint::s3
