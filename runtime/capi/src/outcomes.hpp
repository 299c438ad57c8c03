#pragma once
#include "objects.hpp"

namespace det::capi {

/// Returns the error of the first save that failed, or Ok if all succeeded.
Status first_failure(core::Checkpoint::Outcomes const& outcomes);

/// Copies a UUID and a final null character to `to`, which must have DET_UUID_SIZE characters.
void write_uuid(char* to, std::string_view uuid);

}  // namespace det::capi
