#include "json_text.hpp"

namespace det::capi {

Result<Json> parse(char const* text, std::string_view name) {
    DET_TRY(require(text, name));
    auto value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) return Error{codes::misuse, fmt::format("{} is no JSON: {}", name, text)};
    return value;
}

Json metadata_of(char const* text) {
    if (text == nullptr) return Json::object();
    auto value = Json::parse(text, nullptr, false);
    return value.is_discarded() ? Json(nullptr) : value;
}

}  // namespace det::capi
