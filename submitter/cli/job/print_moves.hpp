#pragma once
#include <det/queue/moves.hpp>

#include <string>
#include <vector>

#include "job/move_requests.hpp"

namespace det::cli {

/// \return One line, for example "job 12: nice 0 -> 100".
std::string to_text(queue::Move const& move);

/// Prints, before anything is changed, which jobs fall back although no request names them.
void announce_lowered(std::vector<queue::Move> const& moves, std::vector<queue::Request> const& requests,
                      Session const& session);

/// Prints which jobs of equal priority change places, and how to restore the order.
void announce_places_replaced(queue::QueueState const& before, std::vector<queue::Request> const& requests,
                              std::vector<queue::Move> const& moves, Session const& session);

/// Prints the moves and the waiting jobs of the partitions concerned in their new order, as text or JSON.
void print_answer(MoveContext const& context, std::vector<queue::Request> const& requests,
                  std::vector<queue::Move> const& moves, bool is_dry_run);

}  // namespace det::cli
