#include "tree_builder.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

#include "scalar.hpp"

namespace det::yaml {
namespace {

constexpr std::string_view core_tag_prefix = "tag:yaml.org,2002:";

// The tags that yaml-cpp reports for a value without a tag: an unquoted value, and a quoted or block value.
constexpr std::string_view plain_tag = "?";
constexpr std::string_view quoted_tag = "!";

/// Skips the tag and the anchor that may precede a value on its line.
std::size_t skip_properties(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == '!' || text[at] == '&')) {
        at = std::min(text.find_first_of(" \t\r\n", at), text.size());
        at = std::min(text.find_first_not_of(" \t", at), text.size());
    }
    return at;
}

/// \return The offset of the quote that closes the one at `at`; npos if it is not closed.
std::size_t find_closing_quote(std::string_view text, std::size_t at) {
    auto const quote = text[at];
    for (++at; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (text[at] == quote) {
            bool const is_doubled = quote == '\'' && at + 1 < text.size() && text[at + 1] == quote;
            if (!is_doubled) return at;
            ++at;
        }
    }
    return std::string_view::npos;
}

/// \return The tag as the file has it: "!!int".
std::string tag_as_written(std::string_view tag) {
    if (tag.starts_with(core_tag_prefix)) return "!!" + std::string(tag.substr(core_tag_prefix.size()));
    return std::string(tag);
}

}  // namespace

TreeBuilder::TreeBuilder(std::shared_ptr<Source const> source, Limits const& limits)
    : source_(std::move(source)), limits_(limits) {}

Location TreeBuilder::location(Mark const& mark, std::size_t width) const {
    // yaml-cpp counts lines and columns from 0, columns in bytes; -1 is an unknown position.
    return Location{source_, static_cast<std::uint32_t>(std::max(mark.line, 0) + 1),
                    static_cast<std::uint32_t>(std::max(mark.column, 0) + 1),
                    static_cast<std::uint32_t>(width)};
}

std::optional<Location> TreeBuilder::innermost_open() const {
    if (open_collections_.empty()) return std::nullopt;
    return open_collections_.back().location;
}

std::size_t TreeBuilder::byte_of(Mark const& mark) const {
    auto const at = location(mark);
    return source_->offset(at.line, at.column);
}

void TreeBuilder::problem(ErrorCode code, std::string message, std::string hint, Location const& location) {
    report_problem(Error{code, std::move(message), std::move(hint), location.span()});
}

/// Ends the parsing after many errors: the location of an error costs time in proportion to its line.
void TreeBuilder::report_problem(Error problem) {
    problems_.report(std::move(problem));
    if (++problem_count_ >= problems_max) throw ParsingAborted{};
}

void TreeBuilder::abort_parsing(ErrorCode code, std::string message, std::string hint,
                                Location const& location) {
    problems_.report(Error{code, std::move(message), std::move(hint), location.span()});
    throw ParsingAborted{};
}

/// yaml-cpp begins another document wherever the first cannot continue, with or without "---".
void TreeBuilder::OnDocumentStart(Mark const& mark) {
    if (++documents_ == 1) return;
    auto const at = location(mark);
    if (source_->line(at.line).starts_with("---")) {
        abort_parsing(codes::syntax, "a second document in the file",
                      "put each configuration into a file of its own", at);
    }
    abort_parsing(codes::syntax, "this line does not fit in with the lines above it",
                  "a file is one map: every key followed by ': '", at);
}

void TreeBuilder::OnNull(Mark const& mark, Anchor anchor) {
    auto const at = location(mark);
    charge({}, at);
    attach({Node(Node::Scalar{}, at), {}}, anchor);
}

void TreeBuilder::OnAlias(Mark const& mark, Anchor anchor) {
    auto at = location(mark);
    auto const written = source_->line(at.line).substr(at.column - 1);
    at.width = static_cast<std::uint32_t>(std::min(written.find_first_of(" ,]}:\t"), written.size()));
    if (anchor >= anchored_.size() || !anchored_[anchor]) {
        abort_parsing(codes::syntax, "the anchor refers to itself",
                      "an alias may only name a value that has ended", at);
    }
    auto value = *anchored_[anchor];
    charge(value.size, at);
    value.node = value.node.with_location(at);
    attach(std::move(value), 0);
}

void TreeBuilder::OnScalar(Mark const& mark, std::string const& tag, Anchor anchor,
                           std::string const& value) {
    auto width = value.size();
    auto const& text = source_->text();
    auto const start = skip_properties(text, byte_of(mark));
    bool const is_quoted =
        tag != plain_tag && start < text.size() && (text[start] == '"' || text[start] == '\'');
    if (is_quoted) {
        auto const end = find_closing_quote(text, start);
        if (end == std::string_view::npos) {
            abort_parsing(codes::syntax, "a quote that is never closed",
                          fmt::format("close it with {}", text[start]), location(mark));
        }
        width = end + 1 - start;
    }
    auto const at = location(mark, std::max<std::size_t>(width, 1));
    check_bytes(value, at);
    ExpandedSize const size{1, value.size(), 0};
    charge(size, at);
    attach({scalar(tag, value, at), size}, anchor, tag == plain_tag);
}

/// Reports a string whose escapes produce a NUL byte or invalid UTF-8.
void TreeBuilder::check_bytes(std::string_view value, Location const& at) {
    if (value.find('\0') != std::string_view::npos) {
        problem(codes::syntax, "a string can't hold a NUL byte", "leave out the \\0", at);
    }
    // yaml-cpp turns \N and \_ into the single bytes 85 and a0.
    if (!is_valid_utf8(value)) {
        problem(codes::syntax, "the escapes \\N and \\_ are not known here", "write \\x85 or \\xa0", at);
    }
}

Node TreeBuilder::scalar(std::string_view tag, std::string const& value, Location at) {
    if (tag == quoted_tag) return Node(value, std::move(at));
    auto const too_large = [&] {
        problem(codes::bad_value, fmt::format("the number {} is too large for 64 bits", value),
                fmt::format("write it in quotes: '{}'", value), at);
        return Node(value, at);
    };
    if (tag == plain_tag) {
        auto plain = resolve_plain(value);
        return plain ? Node(*std::move(plain), std::move(at)) : too_large();
    }
    auto const type =
        tag.starts_with(core_tag_prefix) ? tag.substr(core_tag_prefix.size()) : std::string_view();
    auto tagged = resolve_tagged(type, value);
    if (tagged.status == ScalarStatus::unknown_type) {
        problem(codes::syntax, fmt::format("unknown tag '{}'", tag_as_written(tag)),
                "leave the tag out; !!str, !!int, !!float, !!bool and !!null are known", at);
        return Node(value, std::move(at));
    }
    if (tagged.status == ScalarStatus::out_of_range) return too_large();
    if (tagged.status == ScalarStatus::wrong_type) {
        problem(codes::bad_value, fmt::format("'{}' is no {}", value, tag_as_written(tag)),
                "leave the tag out", at);
    }
    return Node(std::move(tagged.value), std::move(at));
}

void TreeBuilder::OnSequenceStart(Mark const& mark, std::string const& tag, Anchor anchor,
                                  YAML::EmitterStyle::value) {
    open(Kind::list, mark, tag, "seq", anchor);
}

void TreeBuilder::OnMapStart(Mark const& mark, std::string const& tag, Anchor anchor,
                             YAML::EmitterStyle::value) {
    open(Kind::map, mark, tag, "map", anchor);
}

void TreeBuilder::open(Kind kind, Mark const& mark, std::string_view tag, std::string_view own_tag,
                       Anchor anchor) {
    auto const at = location(mark);
    bool const is_known = tag.empty() || tag == plain_tag || tag == quoted_tag ||
                          (tag.starts_with(core_tag_prefix) && tag.substr(core_tag_prefix.size()) == own_tag);
    if (!is_known) {
        problem(codes::syntax, fmt::format("unknown tag '{}'", tag_as_written(tag)), "leave the tag out", at);
    }
    check_depth(open_collections_.size() + 1, at);
    open_collections_.push_back({kind, at, anchor});
}

void TreeBuilder::close_innermost() {
    auto ended = std::move(open_collections_.back());
    open_collections_.pop_back();
    auto const size = ended.size;
    auto const anchor = ended.anchor;
    charge({}, ended.location);  // the contents were charged before
    auto node =
        ended.kind == Kind::list ? Node(std::move(ended.items), ended.location) : close_map(std::move(ended));
    attach({std::move(node), size}, anchor);
}

void TreeBuilder::attach(SizedNode value, Anchor anchor, bool is_plain_text) {
    if (anchor != 0) {
        anchored_.resize(std::max(anchored_.size(), anchor + 1));
        anchored_[anchor] = value;
    }
    if (open_collections_.empty()) {
        root_ = std::move(value.node);
        return;
    }
    auto& around = open_collections_.back();
    around.size.values += value.size.values;
    around.size.text_bytes += value.size.text_bytes;
    around.size.height = std::max(around.size.height, value.size.height + 1);
    if (around.kind == Kind::list) {
        around.items.push_back(std::move(value.node));
    } else {
        attach_to_map(around, std::move(value.node), is_plain_text);
    }
}

void TreeBuilder::attach_to_map(OpenCollection& around, Node value, bool is_plain_text) {
    if (!around.key) {
        if (auto const* text = value.text()) {
            around.key = MapKey{*text, value.location(), is_plain_text && *text == "<<"};
        } else {
            around.key = MapKey{value.location().text(), value.location(), false};
            problem(codes::wrong_type, fmt::format("a key must be a string, found {}", describe(value)),
                    value.is_scalar() ? "write the key in quotes" : "", value.location());
        }
        return;
    }
    Node::Entry entry{std::move(around.key->text), std::move(around.key->location), std::move(value)};
    bool const is_merge = around.key->is_merge;
    around.key.reset();
    if (!is_merge) {
        around.entries.push_back(std::move(entry));
    } else if (!around.inherited) {
        around.inherited = std::move(entry);
    } else {
        report_duplicate(*around.inherited, entry);
    }
}

Node TreeBuilder::close_map(OpenCollection ended) {
    drop_duplicates(ended);
    if (ended.inherited) inherit(ended);
    return Node(std::move(ended.entries), ended.location);
}

void TreeBuilder::report_duplicate(Node::Entry const& first, Node::Entry const& again) {
    report_problem(Error{codes::duplicate_key, fmt::format("the key '{}' is set twice", again.key),
                         "remove one of the two", again.key_location.span()}
                       .noting("the first is at " + first.key_location.text()));
}

void TreeBuilder::drop_duplicates(OpenCollection& map) {
    std::unordered_set<std::size_t> dropped;
    for (auto const& [first, again] : find_duplicates(map.entries)) {
        report_duplicate(map.entries[first], map.entries[again]);
        dropped.insert(again);
    }
    if (dropped.empty()) return;
    std::vector<Node::Entry> kept;
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
        if (!dropped.contains(i)) kept.push_back(std::move(map.entries[i]));
    }
    map.entries = std::move(kept);
}

/// Adds the keys of `<<: *base` or `<<: [*a, *b]` that the map itself does not have. If several bases have a
/// key, the first base is used.
void TreeBuilder::inherit(OpenCollection& map) {
    auto const& merge = *map.inherited;
    auto const bases = merge.value.is_list() ? merge.value.items() : Node::List{merge.value};
    std::unordered_set<std::string> present;
    for (auto const& entry : map.entries) present.insert(entry.key);
    for (auto const& base : bases) {
        if (!base.is_map()) {
            problem(codes::wrong_type,
                    fmt::format("'<<' takes a map or a list of maps, found {}", describe(base)),
                    "write <<: *name, where &name marks a map", base.location());
            continue;
        }
        for (auto const& entry : base.entries()) {
            if (present.insert(entry.key).second) map.entries.push_back(entry);
        }
    }
}

Result<Node, Diagnostics> TreeBuilder::finish() && {
    if (problems_.has_errors()) return std::move(problems_);
    return std::move(root_);
}

void TreeBuilder::charge(ExpandedSize const& size, Location const& at) {
    expanded_.values += size.values;
    expanded_.text_bytes += size.text_bytes;
    if (expanded_.values > limits_.values) {
        abort_parsing(codes::document_too_large,
                      fmt::format("more than {} values once aliases are written out", limits_.values),
                      "write large data into a file of its own", at);
    }
    if (expanded_.text_bytes > limits_.text_bytes) {
        abort_parsing(
            codes::document_too_large,
            fmt::format("more than {} of text once aliases are written out", format_size(limits_.text_bytes)),
            "write large data into a file of its own", at);
    }
    check_depth(open_collections_.size() + size.height, at);
}

void TreeBuilder::check_depth(std::size_t levels, Location const& at) {
    if (levels <= limits_.depth) return;
    abort_parsing(codes::document_too_large, fmt::format("nested deeper than {} levels", limits_.depth),
                  "no configuration needs that", at);
}

}  // namespace det::yaml
