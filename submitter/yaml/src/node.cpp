#include <det/yaml/node.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace det::yaml {

/// Entries in the order of the file, and their indices by key, so that the lookup is fast in a map of 100,000
/// keys too.
struct Node::Table {
    std::vector<Entry> entries;
    std::vector<std::uint32_t> by_key;
};

namespace {

template <class Value>
bool is_nan(Value const& value) {
    auto const* number = std::get_if<double>(&value);
    return number != nullptr && std::isnan(*number);
}

std::vector<std::uint32_t> order_by_key(std::vector<Node::Entry> const& entries) {
    std::vector<std::uint32_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        auto const keys = entries[a].key.compare(entries[b].key);
        return keys < 0 || (keys == 0 && a < b);
    });
    return order;
}

bool same_entries(Node const& a, Node const& b) {
    if (a.entries().size() != b.entries().size()) return false;
    return std::all_of(a.entries().begin(), a.entries().end(), [&](Node::Entry const& entry) {
        auto const* other = b.find(entry.key);
        return other != nullptr && *other == entry.value;
    });
}

}  // namespace

Node& Node::operator=(Node other) noexcept {
    value_.swap(other.value_);
    std::swap(location_, other.location_);
    return *this;
}

Node::Node(Scalar scalar, Location location) : location_(std::move(location)) {
    std::visit([this](auto&& held) { value_ = std::forward<decltype(held)>(held); }, std::move(scalar));
}

Node::Node(List items, Location location)
    : value_(std::make_shared<List const>(std::move(items))), location_(std::move(location)) {}

Node::Node(std::vector<Entry> entries, Location location) : location_(std::move(location)) {
    auto order = order_by_key(entries);
    assert(std::adjacent_find(order.begin(), order.end(), [&](auto a, auto b) {
               return entries[a].key == entries[b].key;
           }) == order.end());
    value_ = std::make_shared<Table const>(Table{std::move(entries), std::move(order)});
}

std::optional<double> Node::number() const {
    if (auto const* whole = integer()) return static_cast<double>(*whole);
    if (auto const* real = std::get_if<double>(&value_)) return *real;
    return std::nullopt;
}

Node::List const& Node::items() const {
    static List const none;
    auto const* list = std::get_if<std::shared_ptr<List const>>(&value_);
    return list != nullptr ? **list : none;
}

std::vector<Node::Entry> const& Node::entries() const {
    static std::vector<Entry> const none;
    auto const* table = std::get_if<std::shared_ptr<Table const>>(&value_);
    return table != nullptr ? (*table)->entries : none;
}

Node::Entry const* Node::find_entry(std::string_view key) const {
    auto const* table = std::get_if<std::shared_ptr<Table const>>(&value_);
    if (table == nullptr) return nullptr;
    auto const& [entries, by_key] = **table;
    auto const found =
        std::lower_bound(by_key.begin(), by_key.end(), key,
                         [&all = entries](auto i, auto wanted) { return all[i].key < wanted; });
    return found != by_key.end() && entries[*found].key == key ? &entries[*found] : nullptr;
}

Node const* Node::find(std::string_view key) const {
    auto const* entry = find_entry(key);
    return entry != nullptr ? &entry->value : nullptr;
}

Node Node::with_location(Location location) const {
    auto moved = *this;
    moved.location_ = std::move(location);
    return moved;
}

bool operator==(Node const& a, Node const& b) {
    if (a.kind() != b.kind()) return false;
    if (a.is_list()) return a.items() == b.items();
    if (a.is_map()) return same_entries(a, b);
    return a.value_ == b.value_ || (is_nan(a.value_) && is_nan(b.value_));
}

std::vector<DuplicateKey> find_duplicates(std::vector<Node::Entry> const& entries) {
    std::vector<DuplicateKey> found;
    auto const order = order_by_key(entries);
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
        if (entries[order[i]].key == entries[order[first]].key) {
            found.push_back({order[first], order[i]});
        } else {
            first = i;
        }
    }
    return found;
}

std::string_view kind_name(Kind kind) {
    constexpr std::array<std::string_view, 7> names = {"nothing",  "a boolean", "an integer", "a number",
                                                       "a string", "a list",    "a map"};
    return names[static_cast<std::size_t>(kind)];
}

std::string describe(Node const& node) {
    constexpr std::size_t shown_max = 60;
    if (auto const* value = node.boolean()) return *value ? "the boolean true" : "the boolean false";
    if (auto const* value = node.integer()) return fmt::format("the integer {}", *value);
    if (node.kind() == Kind::real) return fmt::format("the number {}", *node.number());
    if (auto const* value = node.text()) {
        if (value->size() <= shown_max) return fmt::format("the string '{}'", *value);
        return fmt::format("a string of {} bytes", value->size());
    }
    return std::string(kind_name(node.kind()));
}

}  // namespace det::yaml
