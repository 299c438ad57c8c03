#pragma once
#include "objects.hpp"

namespace det::capi {

/// The error of the first save that failed.
Status first_failure(core::Checkpoint::Outcomes const& outcomes);

/// DET_UUID_SIZE characters.
void write_uuid(char* to, std::string_view uuid);

}  // namespace det::capi
