// {fmt} for a program that is linked statically: the one function that our rooms need of it, which there is
// no archive of.
#include <fmt/format.h>
#include <string>

[[gnu::used]] static std::string (*const kept)(fmt::string_view, fmt::format_args) = &fmt::vformat;
