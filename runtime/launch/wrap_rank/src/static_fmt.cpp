// {fmt} for a statically linked program: the only function that our modules need of libfmt, for which there
// is no archive.
#include <fmt/format.h>
#include <string>

[[gnu::used]] static std::string (*const kept)(fmt::string_view, fmt::format_args) = &fmt::vformat;
