#pragma once
#include <det/config/key_effects.hpp>

namespace det::config::schema {

std::span<KeyEffect const> effect_table();

/// The test case of `config` that shows the warnings of keys that are marked as ignored.
inline constexpr std::string_view ignored_keys_test = "every_key_of_determined_is_known";

}  // namespace det::config::schema
