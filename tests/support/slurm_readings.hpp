#pragma once
#include <det/slurm/client.hpp>

#include <nlohmann/json.hpp>

/// Reads queue, partitions, nodes and some keys of the configuration by a SlurmClient and returns every
/// field, so that two backends can be compared. Texts that may not be UTF-8 are in hex digits. Unordered
/// lists are sorted. Throws std::runtime_error if a call fails.
nlohmann::json readings_of(det::slurm::SlurmClient& slurm);

std::string to_hex(std::string_view bytes);
