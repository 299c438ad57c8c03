#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/tables.hpp"

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

/// What is wrong at a path, in Determined's words where they are known, else in ours.
struct Violation {
    std::string path;
    std::string message;
};

/// Holds a document against the key tables and collects everything that is wrong with it.
class Checker {
public:
    /// What is wrong in any case; what is missing once all is merged; what is read of old experiments, or by
    /// Determined alone, and can't be created.
    enum class Phase { sanity, completeness, creation };

    /// `violations`: for conformance cases, which look for Determined's words.
    /// `whole`: what the documents are, for hints about keys that belong elsewhere.
    explicit Checker(Phase phase, std::vector<Violation>* violations = nullptr,
                     schema::Type const& whole = schema::experiment)
        : phase_(phase), violations_(violations), whole_(whole) {}

    /// `owner` is where the value's key stands: the place of what is missing inside.
    void check(yaml::Node const& value, schema::Type const& type, Path const& path,
               yaml::Location const& owner);

    /// For rules, about the value that they are given: `message` is a whole sentence, with the path in it.
    /// `determined`: what Determined says, where that is not a part of the message.
    void refuse(ErrorCode code, std::string message, std::string hint, yaml::Location const& location,
                std::string_view determined = {});
    void refuse_value(yaml::Node const& value, std::string message, std::string hint = {},
                      std::string_view determined = {}) {
        refuse(codes::bad_value, std::move(message), std::move(hint), value.location(), determined);
    }
    /// For rules that look further down than the value they are given.
    void refuse_at(Path const& path, Error error, std::string_view determined = {});
    bool is_final() const { return phase_ != Phase::sanity; }
    bool is_for_creation() const { return phase_ == Phase::creation; }
    /// Enough is enough: a person reads no thousand errors, and each costs a search for the right word.
    bool is_full() const { return refused_ >= refused_max; }

    Diagnostics finish() &&;

private:
    static constexpr int refused_max = 100;

    void run_rule(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_kind(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_contents(yaml::Node const& value, schema::Type const& type, Path const& path,
                        yaml::Location const& owner);
    void check_number(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_choice(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_items(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_keys(yaml::Node const& value, schema::Type const& type, Path const& path);
    void check_present(yaml::Node const& value, std::span<schema::Key const> keys, Path const& path,
                       yaml::Location const& owner);
    void check_union(yaml::Node const& value, schema::Type const& type, Path const& path,
                     yaml::Location const& owner);
    void refuse_tag(yaml::Node const& tag, schema::Type const& type, Path const& path);
    void check_hyperparameter(yaml::Node const& value, Path const& path, yaml::Location const& owner);
    void check_finite(yaml::Node const& value, Path const& path);
    bool is_required(schema::Required required) const;
    bool records_violations() const { return violations_ != nullptr; }

    Phase phase_;
    std::vector<Violation>* violations_;
    schema::Type const& whole_;
    Path const* rule_path_ = nullptr;  // of the value whose rule runs
    int refused_ = 0;
    Diagnostics found_;
};

}  // namespace det::config
