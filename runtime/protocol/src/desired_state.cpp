#include <det/protocol/desired_state.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include "enum_names.hpp"

namespace det {
namespace {

constexpr EnumNames<4> desired_names{"run", "pause", "cancel", "kill"};

}  // namespace

std::string_view to_string(DesiredState desired) { return name_in(desired_names, desired); }

std::string render_desired(DesiredState desired) {
    return render_document(documents::desired, Json{{"desired", to_string(desired)}});
}

Result<DesiredState> parse_desired(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::desired, text));
    DET_TRY_ASSIGN(auto const name,
                   decode_json("desired", [&] { return body.at("desired").get<std::string>(); }));
    if (auto const desired = find_named<DesiredState>(desired_names, name)) return *desired;
    return Error{codes::newer_format, "desired state '" + name + "' is unknown to this program",
                 "use the det-submit that wrote it"};
}

}  // namespace det
