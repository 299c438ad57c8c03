#include <det/foundation/base64.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/tracker/web/snapshot.hpp>

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

#include "bundle.hpp"

namespace det::tracker::web {
namespace {

std::string text_of_file(std::string_view ending) {
    auto const& files = bundle_files();
    auto const found =
        std::ranges::find_if(files, [&](auto const& file) { return file.name.ends_with(ending); });
    assert(found != files.end());
    std::string text;
    for (auto const piece : found->pieces) text += piece;
    return text;
}

unsigned digit_of(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// The source expression of a content security policy that allows exactly this text.
std::string policy_source(std::string_view text) {
    Sha256 sha;
    sha.update(text);
    auto const digits = sha.finish();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(digit_of(digits[i]) * 16 + digit_of(digits[i + 1]));
    return "'sha256-" + encode_base64(bytes) + "'";
}

/// Replaces each '<' of the JSON text by its escape, so that no value can end the element that holds it.
std::string without_markup(std::string_view json) {
    std::string text;
    text.reserve(json.size());
    for (char const c : json) {
        if (c == '<') {
            text += "\\u003c";
        } else {
            text += c;
        }
    }
    return text;
}

std::string escape_html(std::string_view text) {
    std::string escaped;
    for (char const c : text) {
        if (c == '&')
            escaped += "&amp;";
        else if (c == '<')
            escaped += "&lt;";
        else
            escaped += c;
    }
    return escaped;
}

}  // namespace

std::string render_snapshot(std::string_view title, std::string_view data) {
    auto const script = text_of_file(".js"), style = text_of_file(".css");
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src "
        "{}; "
        "img-src data:\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
        "<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n<div id=\"page\"></div>\n"
        "<script type=\"application/json\" id=\"snapshot\">{}</script>\n<script type=\"module\">{}</script>\n"
        "</body>\n</html>\n",
        policy_source(script), policy_source(style), escape_html(title), style, without_markup(data), script);
}

}  // namespace det::tracker::web
