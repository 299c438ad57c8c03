#pragma once
#include <string>
#include <string_view>

namespace det::tracker::web {

/// The page with its data in one HTML file that needs no server. What is in the data is never markup, and the
/// file's own policy lets no other script run. Pure.
/// \param title of the browser's window
/// \param data JSON: `answers` has the tracker's answers by their addresses, see page/snapshot.ts
std::string render_snapshot(std::string_view title, std::string_view data);

}  // namespace det::tracker::web
