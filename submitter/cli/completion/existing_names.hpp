#pragma once
#include "completion/candidates.hpp"
#include "session.hpp"

namespace det::cli {

/// The names of this user's root, and of the cluster as it was known at most a minute ago. A name that can't
/// be read is left out: completion never fails.
class ExistingNames {
public:
    explicit ExistingNames(Session& session) : session_(session) {}
    /// \param begun what the user has typed of the name; only the names of trials and keys depend on it
    /// \param arguments the arguments before it; only metrics depend on them: those of the experiments and
    ///     trials that they name, else of the newest experiment
    std::vector<Candidate> find_names(ValueKind kind, std::string const& begun,
                                      std::vector<std::string> const& arguments);

private:
    std::vector<Candidate> templates() const;
    std::vector<Candidate> experiments() const;
    std::vector<Candidate> trials(std::string const& begun) const;
    std::vector<Candidate> checkpoints() const;
    std::vector<Candidate> models() const;
    std::vector<Candidate> pools();
    std::vector<Candidate> metrics(std::vector<std::string> const& arguments) const;

    Session& session_;
};

}  // namespace det::cli
