// {fmt} for a statically linked program. It compiles the only function of libfmt that det-wrap-rank needs,
// because there may be no static libfmt.
#include <fmt/format.h>
#include <string>

[[gnu::used]] static std::string (*const kept)(fmt::string_view, fmt::format_args) = &fmt::vformat;
