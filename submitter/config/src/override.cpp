#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>
#include <det/yaml/parse.hpp>

#include <fmt/format.h>

#include "integers.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Shape;
using schema::Type;
using yaml::Kind;
using yaml::Node;

constexpr std::size_t path_length_max = 32;  // the functions recurse once per part of the path

/// The parts of one --config argument.
struct Assignment {
    std::shared_ptr<yaml::Source const> source;
    std::vector<std::string> path;
    std::size_t value_start;

    std::string_view value() const { return std::string_view(source->text()).substr(value_start); }
    yaml::Location location(std::size_t start, std::size_t size) const {
        return {source, 1, static_cast<std::uint32_t>(start + 1),
                static_cast<std::uint32_t>(std::max<std::size_t>(size, 1))};
    }
};

Error bad_assignment(std::string_view written) {
    return Error{codes::usage, fmt::format("--config takes KEY=VALUE, found '{}'", written),
                 "for example --config resources.slots_per_trial=8"};
}

Result<Assignment> split_assignment(std::string_view written) {
    auto const end = written.find('=');
    if (end == std::string_view::npos) return bad_assignment(written);
    Assignment assignment{
        std::make_shared<yaml::Source const>("--config", std::string(written)), {}, end + 1};
    for (auto const key : split(written.substr(0, end), '.')) {
        if (key.empty() || trim(key) != key || key.find('\n') != std::string_view::npos)
            return bad_assignment(written);
        assignment.path.emplace_back(key);
    }
    if (assignment.path.size() > path_length_max) return bad_assignment(written);
    return assignment;
}

Type const& type_below(Type const& type, std::string_view key) {
    auto const* map = find_alternative(type, Kind::map);
    if (map == nullptr || map->shape == Shape::hyperparameter) return schema::anything;
    if (map->shape == Shape::map) return *map->item;
    auto const* found = find_key(*map, Node(), key);
    return found != nullptr ? found->type : schema::anything;
}

Type const& type_at(std::span<std::string const> path) {
    auto const* type = &schema::experiment;
    for (auto const& key : path) type = &type_below(*type, key);
    return *type;
}

/// Parses a word without quotes as a value of the given type, if that is possible.
Result<Node> read_word(std::string_view word, Type const& type, yaml::Location location) {
    auto plain = yaml::resolve_plain(word);
    if (!plain) {
        return Error{codes::bad_value, fmt::format("the number {} is too large for 64 bits", word), "",
                     location.span()};
    }
    auto value = Node(*std::move(plain), location);
    bool const is_meant_as_text =
        !value.is_null() && !accepts(type, value.kind()) && accepts(type, Kind::text);
    return is_meant_as_text ? Node(Node::Scalar(std::string(word)), std::move(location)) : value;
}

Result<Node> read_words(Assignment const& assignment, Type const& type) {
    auto const* list = find_alternative(type, Kind::list);
    auto const& item = list != nullptr && list->item != nullptr ? *list->item : schema::anything;
    Node::List items;
    auto start = assignment.value_start;
    for (auto const word : split(assignment.value(), ',')) {
        DET_TRY_ASSIGN(auto value, read_word(trim(word), item, assignment.location(start, word.size())));
        items.push_back(std::move(value));
        start += word.size() + 1;
    }
    return Node(std::move(items), assignment.location(assignment.value_start, assignment.value().size()));
}

Result<Node> read_value(Assignment const& assignment, Type const& type) {
    auto const written = trim(assignment.value());
    constexpr std::string_view flow_or_quoted = "[{'\"";
    if (!written.empty() && flow_or_quoted.find(written.front()) != std::string_view::npos) {
        auto value = yaml::parse_value(assignment.source, assignment.value_start);
        if (!value) return value.error().sorted().front().error;
        return *std::move(value);
    }
    bool const is_list = accepts(type, Kind::list) && !accepts(type, Kind::text);
    bool const is_free_list = type.shape == Shape::anything && written.find(',') != std::string_view::npos;
    if (!written.empty() && (is_list || is_free_list)) return read_words(assignment, type);
    return read_word(written, type, assignment.location(assignment.value_start, assignment.value().size()));
}

Node nest(Assignment const& assignment, Node value) {
    auto start = assignment.value_start - 1;
    for (auto key = assignment.path.rbegin(); key != assignment.path.rend(); ++key) {
        start -= key->size();
        auto const location = assignment.location(start, key->size());
        value = Node(std::vector<Node::Entry>{{*key, location, std::move(value)}}, location);
        if (start > 0) --start;
    }
    return value;
}

}  // namespace

Result<Layer> parse_override(std::string_view written) {
    DET_TRY_ASSIGN(auto const assignment, split_assignment(written));
    auto value = read_value(assignment, type_at(assignment.path));
    if (!value) return mask_secrets_by_name(std::move(value).error()).sorted().front().error;
    return Layer{with_integers(nest(assignment, *std::move(value)), schema::experiment), assignment.path};
}

}  // namespace det::config
