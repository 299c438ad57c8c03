#pragma once
#include "completion/candidates.hpp"
#include "session.hpp"

namespace det::cli {

/// The names of this user's root, and of the cluster as it was known at most a minute ago. A name that can't
/// be read is left out: completion never fails.
class ExistingNames {
public:
    explicit ExistingNames(Session& session) : session_(session) {}
    /// \param begun what the user has typed of the name; only the names of trials depend on it
    std::vector<Candidate> find_names(ValueKind kind, std::string const& begun);

private:
    std::vector<Candidate> templates() const;
    std::vector<Candidate> experiments() const;
    std::vector<Candidate> trials(std::string const& begun) const;
    std::vector<Candidate> checkpoints() const;
    std::vector<Candidate> models() const;
    std::vector<Candidate> pools();

    Session& session_;
};

}  // namespace det::cli
