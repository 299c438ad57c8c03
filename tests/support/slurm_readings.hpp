#pragma once
#include <det/slurm/client.hpp>

#include <nlohmann/json.hpp>

/// All that a SlurmClient reads, every field of it, so that two backends can be compared. Texts are as hex
/// digits: they may be no UTF-8. Lists that have no order come in one.
nlohmann::json readings_of(det::slurm::SlurmClient& slurm);

std::string to_hex(std::string_view bytes);
