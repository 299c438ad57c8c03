#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/tables.hpp"

namespace det::config {

/// The path of a value, for messages. It is a linked list on the stack; text() renders it.
struct Path {
    Path const* parent = nullptr;
    std::string_view key = {};
    std::optional<std::size_t> index = {};

    Path operator/(std::string_view name) const { return {this, name, {}}; }
    Path operator[](std::size_t position) const { return {this, {}, position}; }
    /// "bind_mounts[0].host_path"; empty for the whole document.
    std::string text() const;
};

/// An error at a path, with det-submit's message. If Determined's message is known, a second Violation has
/// it.
struct Violation {
    std::string path;
    std::string message;
};

/// Checks a document against the key tables and collects all errors.
class Checker {
public:
    /// sanity: errors of any layer. completeness: also keys missing after the merge. creation: also forms
    /// that Determined reads from old experiments but that cannot be created.
    enum class Phase { sanity, completeness, creation };

    /// `violations` receives det-submit's and Determined's messages, for conformance cases.
    /// `whole` is the type of the documents, for hints about misplaced keys.
    explicit Checker(Phase phase, std::vector<Violation>* violations = nullptr,
                     schema::Type const& whole = schema::experiment)
        : phase_(phase), violations_(violations), whole_(whole) {}

    /// Missing keys of `value` are reported at `key_location`: the location of the value's key; for an item
    /// of a list or a whole document, the location of the value.
    void check(yaml::Node const& value, schema::Type const& type, Path const& path,
               yaml::Location const& key_location);

    /// Reports an error of the value whose rule is running. `message` contains the path. `determined` is
    /// Determined's message, if it is not a part of `message`.
    void refuse(ErrorCode code, std::string message, std::string hint, yaml::Location const& location,
                std::string_view determined = {});
    void refuse_value(yaml::Node const& value, std::string message, std::string hint = {},
                      std::string_view determined = {}) {
        refuse(codes::bad_value, std::move(message), std::move(hint), value.location(), determined);
    }
    /// Reports an error of a value inside the value whose rule is running.
    void refuse_at(Path const& path, Error error, std::string_view determined = {});
    bool is_merged() const { return phase_ != Phase::sanity; }
    bool is_for_creation() const { return phase_ == Phase::creation; }
    /// True if the limit of errors is reached. There is a limit because users do not read a thousand errors,
    /// and each error needs a search for the most similar word.
    bool is_full() const { return refused_ >= refused_max; }

    Diagnostics finish() &&;

private:
    static constexpr int refused_max = 100;

    void run_rule(yaml::Node const& value, schema::Type const& type, Path const& path);
    void refuse_kind(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_contents(yaml::Node const& value, schema::Type const& type, Path const& path,
                        yaml::Location const& key_location);
    void check_number(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_choice(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_items(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_keys(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_present(yaml::Node const& value, std::span<schema::Key const> keys, Path const& path,
                       yaml::Location const& key_location);
    void check_union(yaml::Node const& value, schema::Type const& type, Path const& path,
                     yaml::Location const& key_location);
    void refuse_tag(yaml::Node const& tag, schema::Type const& type, Path const& path);
    void check_hyperparameter(yaml::Node const& value, Path const& path, yaml::Location const& key_location);
    void check_finite(yaml::Node const& value, Path const& path);
    void warn_of_similar_key(yaml::Node::Entry const& entry, yaml::Node const& owner,
                             schema::Type const& type);
    bool is_required(schema::Required required) const;
    bool records_violations() const { return violations_ != nullptr; }

    Phase phase_;
    std::vector<Violation>* violations_;
    schema::Type const& whole_;
    Path const* rule_path_ = nullptr;  // of the value whose rule is running
    int refused_ = 0;
    Diagnostics found_;
};

}  // namespace det::config
