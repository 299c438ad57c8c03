#pragma once
#include <det/config/key_effects.hpp>

namespace det::config::schema {

std::span<KeyEffect const> effect_table();

}  // namespace det::config::schema
