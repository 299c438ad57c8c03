// The only file that includes yaml-cpp. It uses only the parser: yaml-cpp's own tree accepts duplicate keys,
// and an anchor inside itself makes it loop.
#include <det/yaml/parse.hpp>

#include <algorithm>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "syntax_hint.hpp"
#include "text_check.hpp"
#include "tree_builder.hpp"

namespace det::yaml {
namespace {

TreeBuilder::Mark from(YAML::Mark const& mark) { return {std::max(mark.line, 0), std::max(mark.column, 0)}; }

/// Passes the parser's events of the first document to the builder and refuses a second document.
class Events : public YAML::EventHandler {
public:
    explicit Events(TreeBuilder& builder) : builder_(builder) {}

    void OnDocumentStart(YAML::Mark const& mark) override {
        if (++documents_ > 1) refuse_second(from(mark));
    }
    void OnDocumentEnd() override {}
    void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
        builder_.on_null(from(mark), anchor);
    }
    void OnAlias(YAML::Mark const& mark, YAML::anchor_t anchor) override {
        builder_.on_alias(from(mark), anchor);
    }
    void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  std::string const& value) override {
        builder_.on_scalar(from(mark), tag, anchor, value);
    }
    void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        builder_.on_list_start(from(mark), tag, anchor);
    }
    void OnSequenceEnd() override { builder_.on_end(); }
    void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        builder_.on_map_start(from(mark), tag, anchor);
    }
    void OnMapEnd() override { builder_.on_end(); }

private:
    /// yaml-cpp begins another document wherever the first cannot continue, with or without "---".
    [[noreturn]] void refuse_second(TreeBuilder::Mark mark) {
        auto const at = builder_.location(mark);
        bool const is_marked = at.source->line(at.line).starts_with("---");
        builder_.report(is_marked ? Error{codes::syntax, "a second document in the file",
                                          "put each configuration into a file of its own", at.span()}
                                  : Error{codes::syntax, "this line does not fit in with the lines above it",
                                          "a file is one map: every key followed by ': '", at.span()});
        throw TreeBuilder::ParsingAborted{};
    }

    TreeBuilder& builder_;
    int documents_ = 0;
};

Error syntax_error(TreeBuilder const& builder, YAML::Exception const& thrown) {
    auto at = builder.location(from(thrown.mark));
    auto const line = at.source->line(at.line);
    auto const syntax_message = explain_parser_message(thrown.msg, line);
    if (syntax_message.location == ErrorLocation::innermost_open) at = builder.innermost_open().value_or(at);
    if (syntax_message.location == ErrorLocation::first_tab)
        at.column = static_cast<std::uint32_t>(line.find('\t') + 1);
    return Error{codes::syntax, std::string(syntax_message.message), std::string(syntax_message.hint),
                 at.span()};
}

/// Parses `text`, whose lines and columns are those of the source.
Result<Node, Diagnostics> parse_text(std::shared_ptr<Source const> source, std::string text,
                                     Limits const& limits) {
    TreeBuilder builder(source, limits);
    Events events(builder);
    try {
        std::istringstream stream(std::move(text));
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(events)) continue;
    } catch (TreeBuilder::ParsingAborted const&) {
        // The builder has reported the reason.
    } catch (YAML::Exception const& thrown) {
        builder.report(syntax_error(builder, thrown));
    }
    return std::move(builder).finish();
}

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace

Result<Node, Diagnostics> parse_document(std::string_view text, std::string file_name, Limits const& limits) {
    auto const source =
        std::make_shared<Source const>(std::move(file_name), std::string(without_byte_order_mark(text)));
    if (auto problem = find_invalid_text(source, limits)) return *std::move(problem);
    return parse_text(source, source->text(), limits);
}

Result<Node, Diagnostics> parse_value(std::shared_ptr<Source const> source, std::size_t offset,
                                      Limits const& limits) {
    if (auto problem = find_invalid_text(source, limits)) return *std::move(problem);
    // Spaces in place of the text before the value keep the columns right.
    auto text = source->text();
    text.replace(0, offset, offset, ' ');
    return parse_text(std::move(source), std::move(text), limits);
}

}  // namespace det::yaml
