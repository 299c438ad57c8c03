#pragma once
#include <det/yaml/source.hpp>

#include <optional>
#include <variant>

namespace det::yaml {

enum class Kind { null, boolean, integer, real, text, list, map };

/// A value and its location. Lists and maps are shared and immutable: a copy is cheap, and an edited tree is
/// a new tree that shares the unchanged parts.
class Node {
public:
    struct Entry;
    struct Table;
    using List = std::vector<Node>;
    using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

    Node() = default;  // null, without a location
    Node(Node const&) = default;
    Node(Node&&) = default;
    ~Node() = default;
    /// Takes its argument by value, so that a node can be assigned a part of itself.
    Node& operator=(Node other) noexcept;
    Node(Scalar scalar, Location location);
    Node(List items, Location location);
    /// \pre Keys are unique; see find_duplicates().
    Node(std::vector<Entry> entries, Location location);

    Kind kind() const { return static_cast<Kind>(value_.index()); }
    bool is_null() const { return kind() == Kind::null; }
    bool is_scalar() const { return kind() < Kind::list; }
    bool is_list() const { return kind() == Kind::list; }
    bool is_map() const { return kind() == Kind::map; }
    bool is_text() const { return kind() == Kind::text; }
    bool is_number() const { return kind() == Kind::integer || kind() == Kind::real; }

    bool const* boolean() const { return std::get_if<bool>(&value_); }
    std::int64_t const* integer() const { return std::get_if<std::int64_t>(&value_); }
    /// The value of an integer or a real number.
    std::optional<double> number() const;
    std::string const* text() const { return std::get_if<std::string>(&value_); }
    /// \return The items of a list; empty for any other kind.
    List const& items() const;
    /// \return The entries of a map in the order of the file; empty for any other kind.
    std::vector<Entry> const& entries() const;
    Entry const* find_entry(std::string_view key) const;
    /// \return The value of the key, which may be null; nullptr if the key is absent.
    Node const* find(std::string_view key) const;

    Location const& location() const { return location_; }
    Node with_location(Location location) const;

    /// Compares values; NaN equals NaN. Locations and the order of a map's keys do not matter.
    friend bool operator==(Node const& a, Node const& b);

private:
    // In the order of Kind.
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::shared_ptr<List const>,
                 std::shared_ptr<Table const>>
        value_;
    Location location_;
};

struct Node::Entry {
    std::string key;
    Location key_location;
    Node value;
};

/// The indices of two entries with the same key.
struct DuplicateKey {
    std::size_t first;
    std::size_t again;
};
std::vector<DuplicateKey> find_duplicates(std::vector<Node::Entry> const& entries);

/// \return The kind in messages such as "expected ..., found ...": "a string", "an integer", "a list".
std::string_view kind_name(Kind kind);
/// A description for messages: "the string 'x'", "the integer 5", "a list", "nothing".
std::string describe(Node const& node);

}  // namespace det::yaml
