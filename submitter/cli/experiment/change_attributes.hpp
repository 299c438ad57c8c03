#pragma once
#include <det/tracker/history/attributes.hpp>

#include <string>

#include "command.hpp"

namespace det::cli {

/// What a command does that changes an attribute which no trial reads: name, description, labels, archived.
struct AttributeChange {
    std::string_view value_name;  // of the second argument; empty: there is none
    tracker::history::changes::Change (*make)(std::string const& value);
    /// The reason why the change is refused; null: it never is.
    Status (*check)(tracker::history::Attributes const& now, lifecycle::State state,
                    std::string const& value);
    std::string_view done;  // "Archived", of "Archived experiment 7"
};

/// A command that makes such a change: one event.
class ChangeAttribute final : public Command {
public:
    explicit ChangeAttribute(AttributeChange const& change) : change_(change) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    Status apply(Session& session) const;

    AttributeChange change_;
    std::string id_, value_;
};

}  // namespace det::cli
