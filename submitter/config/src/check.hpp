#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/type.hpp"

namespace det::config {

/// The way to a value, for messages; it lives on the stack of the walk and becomes text only when needed.
struct Path {
    Path const* parent = nullptr;
    std::string_view key = {};
    std::optional<std::size_t> index = {};

    Path operator/(std::string_view name) const { return {this, name, {}}; }
    Path operator[](std::size_t position) const { return {this, {}, position}; }
    /// "bind_mounts[0].host_path"; empty for the whole.
    std::string text() const;
};

/// Holds a document against the key tables and collects everything that is wrong with it.
class Checker {
public:
    enum class Phase { sanity, completeness };

    explicit Checker(Phase phase) : phase_(phase) {}

    /// `owner` is where the value's key stands: the place of what is missing inside.
    void check(yaml::Node const& value, schema::Type const& type, Path const& path, yaml::Place const& owner);

    void refuse(Error error);
    /// For rules: `message` is a whole sentence, with the path in it.
    void refuse(ErrorCode code, std::string message, std::string hint, yaml::Place const& place);
    void refuse_value(yaml::Node const& value, std::string message, std::string hint = {}) {
        refuse(codes::bad_value, std::move(message), std::move(hint), value.place());
    }
    bool is_final() const { return phase_ == Phase::completeness; }
    /// Enough is enough: a person reads no thousand errors, and each costs a search for the right word.
    bool is_full() const { return refused_ >= refused_max; }

    Diagnostics finish() &&;

private:
    static constexpr int refused_max = 100;

    void check_kind(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_contents(yaml::Node const& value, schema::Type const& type, Path const& path,
                        yaml::Place const& owner);
    void check_number(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_choice(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_items(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_keys(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_present(yaml::Node const& value, std::span<schema::Key const> keys, Path const& path,
                       yaml::Place const& owner);
    void check_union(yaml::Node const& value, schema::Type const& type, Path const& path,
                     yaml::Place const& owner);
    void refuse_tag(yaml::Node const& tag, schema::Type const& type, Path const& path);
    void check_hyperparameter(yaml::Node const& value, Path const& path, yaml::Place const& owner);
    void check_finite(yaml::Node const& value, Path const& path);

    Phase phase_;
    int refused_ = 0;
    Diagnostics found_;
};

}  // namespace det::config
