#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <optional>
#include <set>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Secrecy;
using schema::Type;
using yaml::Node;

/// Masks every scalar of the value.
Node hidden(Node const& value) {
    if (value.is_null()) return value;
    Node::List items;
    for (auto const& item : value.items()) items.push_back(hidden(item));
    if (value.is_list()) return Node(std::move(items), value.location());
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries())
        entries.push_back({entry.key, entry.key_location, hidden(entry.value)});
    if (value.is_map()) return Node(std::move(entries), value.location());
    return Node(Node::Scalar(std::string(masked_value)), value.location());
}

Node mask(Node const& value, Type const& type) {
    if (!value.is_map()) return value;
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries()) {
        auto const* key = find_key(type, value, entry.key);
        auto shown = key == nullptr                    ? entry.value
                     : key->secrecy == Secrecy::hidden ? hidden(entry.value)
                                                       : mask(entry.value, key->type);
        entries.push_back({entry.key, entry.key_location, std::move(shown)});
    }
    return Node(std::move(entries), value.location());
}

std::optional<Node> secrets_in(Node const& value, Type const& type) {
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries()) {
        auto const* key = find_key(type, value, entry.key);
        if (key == nullptr || entry.value.is_null()) continue;
        auto secret =
            key->secrecy == Secrecy::hidden ? std::optional(entry.value) : secrets_in(entry.value, key->type);
        if (secret) entries.push_back({entry.key, entry.key_location, *std::move(secret)});
    }
    if (entries.empty()) return std::nullopt;
    return Node(std::move(entries), value.location());
}

void add_scalars(std::vector<Node>& scalars, Node const& value) {
    for (auto const& item : value.items()) add_scalars(scalars, item);
    for (auto const& entry : value.entries()) add_scalars(scalars, entry.value);
    if (value.is_scalar() && !value.is_null()) scalars.push_back(value);
}

/// Adds every scalar that is a secret.
void add_secrets(std::vector<Node>& secrets, Node const& value, Type const& type) {
    for (auto const& entry : value.entries()) {
        auto const* key = find_key(type, value, entry.key);
        if (key == nullptr) continue;
        if (key->secrecy == Secrecy::hidden) {
            add_scalars(secrets, entry.value);
        } else {
            add_secrets(secrets, entry.value, key->type);
        }
    }
}

/// Replaces the secret by asterisks. Their number is the width of the secret, so that the columns of the line
/// stay.
void hide_in_excerpt(SourceSpan& where, yaml::Location const& secret) {
    bool const is_there = secret.is_written() && secret.source->name() == where.file &&
                          static_cast<int>(secret.line) == where.line &&
                          secret.column <= where.line_text.size();
    if (is_there) {
        auto const start = secret.column - 1;
        auto const size = std::min<std::size_t>(secret.width, where.line_text.size() - start);
        where.line_text.replace(start, size, std::string(size, '*'));
    }
}

Error without_secrets(Error error, std::vector<Node> const& secrets) {
    for (auto const& secret : secrets) {
        if (error.where) hide_in_excerpt(*error.where, secret.location());
        auto const words = describe(secret);
        if (auto const at = error.message.find(words); at != std::string::npos)
            error.message.replace(at, words.size(), "a secret");
    }
    return error;
}

using Names = std::set<std::string_view>;

void add_secret_names(Names& names, std::span<Key const> keys);

void add_secret_names(Names& names, Type const& type) {
    add_secret_names(names, type.keys);
    for (auto const& member : type.members) add_secret_names(names, member.keys);
    for (auto const* alternative : type.alternatives) add_secret_names(names, *alternative);
    if (type.item != nullptr && type.item->item != type.item) add_secret_names(names, *type.item);
}

void add_secret_names(Names& names, std::span<Key const> keys) {
    for (auto const& key : keys) {
        if (key.secrecy == Secrecy::hidden) names.insert(key.name);
        add_secret_names(names, key.type);
    }
}

/// \return The offset of the key's value on the line, after `name:`, `"name":` or `name=`.
std::optional<std::size_t> find_value_of(std::string_view name, std::string_view line) {
    for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
        auto const separator = line.find_first_not_of(" \"'", at + name.size());
        if (separator == std::string_view::npos || (line[separator] != ':' && line[separator] != '='))
            continue;
        return std::min(line.find_first_not_of(' ', separator + 1), line.size());
    }
    return std::nullopt;
}

/// Masks the words of `value` in the text. Words of fewer than 4 characters stay: they may be words of the
/// message itself.
void mask_words(std::string& text, std::string_view value) {
    constexpr std::size_t shortest = 4;
    for (auto word : split(value, ' ')) {
        while (!word.empty() && std::string_view("\"',]}").find(word.back()) != std::string_view::npos)
            word.remove_suffix(1);
        while (!word.empty() && std::string_view("\"'[{").find(word.front()) != std::string_view::npos)
            word.remove_prefix(1);
        if (word.size() < shortest) continue;
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at))
            text.replace(at, word.size(), "****");
    }
}

}  // namespace

Diagnostics mask_secrets_by_name(Diagnostics const& found) {
    Names names;
    add_secret_names(names, schema::experiment);
    Diagnostics masked;
    for (auto [severity, error] : found.sorted()) {
        for (auto const name : names) {
            if (!error.where) break;
            auto& line = error.where->line_text;
            auto const start = find_value_of(name, line);
            if (!start) continue;
            auto const value = line.substr(*start);
            mask_words(error.message, value);
            mask_words(error.hint, value);
            line.replace(*start, std::string::npos, std::string(value.size(), '*'));
        }
        severity == Severity::error ? masked.report(std::move(error)) : masked.warn(std::move(error));
    }
    return masked;
}

std::optional<Node> find_secrets(Node const& document) { return secrets_in(document, schema::experiment); }

Node mask_secrets(Node const& document) { return mask(document, schema::experiment); }

Diagnostics mask_secrets(Diagnostics const& found, Node const& document) {
    std::vector<Node> secrets;
    add_secrets(secrets, document, schema::experiment);
    Diagnostics masked;
    for (auto const& [severity, error] : found.sorted()) {
        auto shown = without_secrets(error, secrets);
        severity == Severity::error ? masked.report(std::move(shown)) : masked.warn(std::move(shown));
    }
    return masked;
}

}  // namespace det::config
