// The functions of libfmt 9 that programs call: Debian has no static archive of them, and fmt declares them
// `extern template`.
#include <fmt/format-inl.h>

#if FMT_VERSION < 90000 || FMT_VERSION >= 100000
#error "written for fmt 9"
#endif

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float value) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double value) noexcept;
template FMT_API std::locale locale_ref::get<std::locale>() const;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref locale);
template FMT_API char decimal_point_impl(locale_ref locale);
template FMT_API void buffer<char>::append(char const* begin, char const* end);
template FMT_API void vformat_to<char>(buffer<char>& into, string_view format,
                                       basic_format_args<basic_format_context<appender, char>> arguments,
                                       locale_ref locale);
}  // namespace detail
FMT_END_NAMESPACE
