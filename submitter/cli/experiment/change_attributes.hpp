#pragma once
#include <det/tracker/history/attributes.hpp>

#include <string>

#include "command.hpp"

namespace det::cli {

/// The parameters of a command that changes an attribute which no trial reads: name, description, labels,
/// archived.
struct AttributeChange {
    std::string_view value_name;  // name of the second argument; empty: the command has none
    tracker::history::changes::Change (*make)(std::string const& value);
    /// Returns an error if the change is refused; null: the change is always accepted.
    Status (*check)(tracker::history::Attributes const& now, lifecycle::State state,
                    std::string const& value);
    std::string_view done;  // "Archived" in the answer "Archived experiment 7"
};

/// A command that changes one attribute by appending an event to the experiment.
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
