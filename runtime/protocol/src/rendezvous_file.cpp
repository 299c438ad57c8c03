#include <det/protocol/rendezvous_file.hpp>

#include "json_fields.hpp"

namespace det {

template <>
inline constexpr JsonField json_fields<Endpoint>[] = {
    field<&Endpoint::address>("address"),
    field<&Endpoint::port>("port"),
};

template <>
inline constexpr JsonField json_fields<RendezvousFile>[] = {
    field<&RendezvousFile::secret>("secret"),
    optional_field<&RendezvousFile::chief>("chief"),
    optional_field<&RendezvousFile::ranks>("ranks"),
};

std::string render_rendezvous_file(RendezvousFile const& rendezvous) {
    return render_document(rendezvous_document, fields_to_json(rendezvous));
}

Result<RendezvousFile> parse_rendezvous_file(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(rendezvous_document, text));
    return fields_from_json<RendezvousFile>("rendezvous", body);
}

}  // namespace det
