#pragma once
#include "completion/candidates.hpp"
#include "session.hpp"

namespace det::cli {

/// The names of this user's root, and of the cluster as it was known at most a minute ago.
class ExistingNames final : public NameSource {
public:
    explicit ExistingNames(Session& session) : session_(session) {}
    std::vector<Candidate> find_names(ValueKind kind, std::string const& begun) override;

private:
    std::vector<Candidate> templates() const;
    std::vector<Candidate> experiments() const;
    std::vector<Candidate> trials(std::string const& begun) const;
    std::vector<Candidate> checkpoints() const;
    std::vector<Candidate> pools();

    Session& session_;
};

}  // namespace det::cli
