#include "xml.hpp"

#include <fmt/format.h>
#include <utility>

namespace det::checkpoint::s3 {
namespace {

constexpr std::pair<std::string_view, char> entities[] = {{"&quot;", '"'}, {"&apos;", '\''}, {"&lt;", '<'},
                                                          {"&gt;", '>'},   {"&amp;", '&'},   {"&#34;", '"'},
                                                          {"&#39;", '\''}};

std::string replace_entities(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        std::size_t taken = 1;
        char c = text.front();
        for (auto const& [entity, character] : entities) {
            if (!text.starts_with(entity)) continue;
            taken = entity.size();
            c = character;
            break;
        }
        plain.push_back(c);
        text.remove_prefix(taken);
    }
    return plain;
}

}  // namespace

std::vector<std::string> texts_of(std::string_view xml, std::string_view name) {
    auto const open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
    std::vector<std::string> texts;
    for (auto at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
        at += open.size();
        auto const end = xml.find(close, at);
        if (end == std::string_view::npos) break;
        texts.push_back(replace_entities(xml.substr(at, end - at)));
    }
    return texts;
}

std::string text_of(std::string_view xml, std::string_view name) {
    auto texts = texts_of(xml, name);
    return texts.empty() ? std::string() : std::move(texts.front());
}

}  // namespace det::checkpoint::s3
