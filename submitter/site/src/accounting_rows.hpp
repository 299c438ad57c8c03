#pragma once
#include <det/site/accounting_limits.hpp>

namespace det::site {

/// "QOS 'normal'", "user 'alice' in account 'ml'", "account 'ml'".
std::string name_of(slurm::Association const& association);
std::string name_of(slurm::Qos const& qos);

/// \return The association of a job of the owner; nullptr if Slurm refuses it.
slurm::Association const* find_association(slurm::Accounting const& accounting, JobOwner const& owner);

/// \return The QOS that a job of the association gets: `asked`, else the association's default, else Slurm's.
slurm::Qos const* find_qos(slurm::Accounting const& accounting, slurm::Association const& association,
                           std::string const& asked);

}  // namespace det::site
