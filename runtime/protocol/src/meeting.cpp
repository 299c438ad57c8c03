#include <det/protocol/meeting.hpp>

namespace det {

std::string render_meeting(Meeting const& meeting) {
    Json body{{"secret", meeting.secret}};
    if (meeting.chief) body["chief"] = {{"address", meeting.chief->address}, {"port", meeting.chief->port}};
    return render_document(meeting_document, body);
}

Result<Meeting> parse_meeting(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(meeting_document, text));
    return decode_json("meeting", [&] {
        Meeting meeting{body.at("secret").get<std::string>()};
        if (body.contains("chief")) {
            auto const& chief = body.at("chief");
            meeting.chief = Endpoint{chief.at("address"), chief.at("port")};
        }
        return meeting;
    });
}

}  // namespace det
