#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/tracker/web/page_routes.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>

#include "bundle.hpp"
#include "compress.hpp"

namespace det::tracker::web {
namespace {

constexpr std::string_view index_name = "index.html";

// Allows only the page's own script and style, so that text of a job can never run. The icon is a data: URL.
constexpr char content_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

struct ContentType {
    std::string_view ending;
    std::string_view type;
};
constexpr std::array content_types{ContentType{".html", "text/html; charset=utf-8"},
                                   ContentType{".js", "text/javascript; charset=utf-8"},
                                   ContentType{".css", "text/css; charset=utf-8"}};

std::string content_type_of(std::string_view name) {
    auto const found =
        std::ranges::find_if(content_types, [&](auto const& t) { return name.ends_with(t.ending); });
    assert(found != content_types.end());
    return std::string(found->type);
}

/// A file of the page, ready to be sent.
struct PageFile {
    std::string type;
    std::string text;
    std::string compressed;
    std::string tag;  // the ETag: a hash of the text, in quotes
};

PageFile prepare(BundleFile const& file) {
    PageFile page;
    page.type = content_type_of(file.name);
    for (auto const piece : file.pieces) page.text += piece;
    page.compressed = compress_gzip(page.text);
    Sha256 sha;
    sha.update(page.text);
    page.tag = '"' + sha.finish().substr(0, 16) + '"';
    return page;
}

bool accepts_gzip(http::Request const& request) {
    return std::ranges::any_of(http::find_headers(request.headers, "Accept-Encoding"), [](auto value) {
        return std::ranges::any_of(split(value, ','), [](auto part) {
            auto const name = trim(part);
            return name == "gzip" || (name.starts_with("gzip;") && name != "gzip;q=0");
        });
    });
}

bool has_tag(http::Request const& request, std::string_view tag) {
    return std::ranges::any_of(http::find_headers(request.headers, "If-None-Match"), [&](auto value) {
        return std::ranges::any_of(split(value, ','), [&](auto part) { return trim(part) == tag; });
    });
}

/// Browsers may keep all files but the index for a year: their names contain a hash of their contents.
http::Response respond(PageFile const& file, bool is_index, http::Request const& request) {
    http::Response response;
    response.content_type = file.type;
    response.headers = {{"Cache-Control", is_index ? "no-cache" : "public, max-age=31536000, immutable"},
                        {"Content-Security-Policy", content_policy},
                        {"ETag", file.tag},
                        {"Vary", "Accept-Encoding"}};
    if (has_tag(request, file.tag)) {
        response.status = 304;
        return response;
    }
    bool const is_compressed = accepts_gzip(request);
    if (is_compressed) response.headers.push_back({"Content-Encoding", "gzip"});
    response.body = is_compressed ? file.compressed : file.text;
    return response;
}

}  // namespace

std::vector<http::Route> page_routes() {
    std::vector<http::Route> routes;
    for (auto const& file : bundle_files()) {
        bool const is_index = file.name == index_name;
        auto const page = std::make_shared<PageFile const>(prepare(file));
        http::Handler handler = [page, is_index](http::Request const& request) {
            return respond(*page, is_index, request);
        };
        routes.push_back({http::Method::get, is_index ? "/" : "/" + std::string(file.name),
                          http::AuthClass::anyone, std::move(handler)});
    }
    return routes;
}

}  // namespace det::tracker::web
