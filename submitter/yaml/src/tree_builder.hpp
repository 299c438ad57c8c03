#pragma once
#include <det/yaml/parse.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

namespace det::yaml {

/// Builds a tree of Nodes from yaml-cpp's events. Refuses what yaml-cpp accepts: a second document, duplicate
/// keys, keys that are not strings, unknown tags, unclosed quotes, anchors within themselves, aliases that
/// expand beyond the limits.
class TreeBuilder : public YAML::EventHandler {
public:
    /// Anchors are numbered from 1 in the order in which they appear; 0 is none.
    using Anchor = YAML::anchor_t;
    using Mark = YAML::Mark;
    /// Thrown to stop the parser, after the error has been reported.
    struct ParsingAborted {};

    TreeBuilder(std::shared_ptr<Source const> source, Limits const& limits);

    void OnDocumentStart(Mark const& mark) override;
    void OnDocumentEnd() override {}
    void OnNull(Mark const& mark, Anchor anchor) override;
    void OnAlias(Mark const& mark, Anchor anchor) override;
    void OnScalar(Mark const& mark, std::string const& tag, Anchor anchor, std::string const& value) override;
    void OnSequenceStart(Mark const& mark, std::string const& tag, Anchor anchor,
                         YAML::EmitterStyle::value style) override;
    void OnSequenceEnd() override { close_innermost(); }
    void OnMapStart(Mark const& mark, std::string const& tag, Anchor anchor,
                    YAML::EmitterStyle::value style) override;
    void OnMapEnd() override { close_innermost(); }

    void report(Error problem) { problems_.report(std::move(problem)); }
    Location location(Mark const& mark, std::size_t width = 1) const;
    /// \return The location of the innermost open list or map.
    std::optional<Location> innermost_open() const;
    Result<Node, Diagnostics> finish() &&;

private:
    /// The size of a value with every alias expanded.
    struct ExpandedSize {
        std::size_t values = 1;
        std::size_t text_bytes = 0;
        std::size_t height = 0;
    };
    struct SizedNode {
        Node node;
        ExpandedSize size;
    };
    struct MapKey {
        std::string text;
        Location location;
        bool is_merge;  // the key is <<, written without quotes
    };
    /// A list or map that has begun and not ended yet.
    struct OpenCollection {
        Kind kind;
        Location location;
        Anchor anchor;
        ExpandedSize size = {};
        Node::List items = {};
        std::vector<Node::Entry> entries = {};
        std::optional<MapKey> key = {};
        std::optional<Node::Entry> inherited = {};  // the value of the key <<
    };

    void attach(SizedNode value, Anchor anchor, bool is_plain_text = false);
    void attach_to_map(OpenCollection& around, Node value, bool is_plain_text);
    void open(Kind kind, Mark const& mark, std::string_view tag, std::string_view own_tag, Anchor anchor);
    void close_innermost();
    Node close_map(OpenCollection ended);
    void drop_duplicates(OpenCollection& map);
    void report_duplicate(Node::Entry const& first, Node::Entry const& again);
    void inherit(OpenCollection& map);
    std::size_t byte_of(Mark const& mark) const;
    void charge(ExpandedSize const& size, Location const& location);
    void check_depth(std::size_t levels, Location const& location);
    void check_bytes(std::string_view value, Location const& location);
    Node scalar(std::string_view tag, std::string const& value, Location location);
    void report_problem(Error problem);
    void problem(ErrorCode code, std::string message, std::string hint, Location const& location);
    [[noreturn]] void abort_parsing(ErrorCode code, std::string message, std::string hint,
                                    Location const& location);

    std::shared_ptr<Source const> source_;
    Limits limits_;
    int documents_ = 0;
    ExpandedSize expanded_{0, 0, 0};
    std::vector<OpenCollection> open_collections_;
    std::vector<std::optional<SizedNode>> anchored_;
    Node root_;
    static constexpr int problems_max = 100;
    int problem_count_ = 0;
    Diagnostics problems_;
};

}  // namespace det::yaml
