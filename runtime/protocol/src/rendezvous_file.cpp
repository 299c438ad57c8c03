#include <det/protocol/json.hpp>
#include <det/protocol/rendezvous_file.hpp>

namespace det {

std::string render_rendezvous_file(RendezvousFile const& rendezvous) {
    Json body{{"secret", rendezvous.secret}};
    if (rendezvous.chief)
        body["chief"] = {{"address", rendezvous.chief->address}, {"port", rendezvous.chief->port}};
    if (rendezvous.ranks) body["ranks"] = *rendezvous.ranks;
    return render_document(rendezvous_document, body);
}

Result<RendezvousFile> parse_rendezvous_file(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(rendezvous_document, text));
    return decode_json("rendezvous", [&] {
        RendezvousFile rendezvous{body.at("secret").get<std::string>()};
        if (body.contains("chief")) {
            auto const& chief = body.at("chief");
            rendezvous.chief = Endpoint{chief.at("address"), chief.at("port")};
        }
        if (body.contains("ranks")) rendezvous.ranks = body.at("ranks").get<int>();
        return rendezvous;
    });
}

}  // namespace det
