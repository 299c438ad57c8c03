#pragma once
#include <det/collectives/tensor.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "boundary.hpp"

// Conversions between the arguments of det.h and the values of core.
namespace det::capi {

/// Converts a number of det.h to a DataType. An unknown number gives an unknown type, which checkpoints and
/// collectives refuse. Collectives refuse it on all ranks, because the other ranks have entered the call too.
tensor::DataType to_data_type(det_dtype dtype);
/// Converts a number of det.h to a ReduceOp. An unknown number gives an unknown operation, which collectives
/// refuse.
collectives::ReduceOp to_reduce_op(det_reduce_op op);

/// Parses the text of an argument as JSON. Fails with codes::misuse if it is NULL or not JSON.
/// \param name the name of the argument, for the message
Result<Json> parse(char const* text, std::string_view name);

/// Parses the metadata of a checkpoint. NULL gives an empty object. Text that is not JSON gives null, which
/// core refuses; in collective calls it does so on all ranks.
Json metadata_of(char const* text);

/// Copies a UUID and a final null character to `to`, which must have DET_UUID_SIZE characters.
void write_uuid(char* to, std::string_view uuid);

}  // namespace det::capi
