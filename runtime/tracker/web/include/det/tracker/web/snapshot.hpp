#pragma once
#include <string>
#include <string_view>

namespace det::tracker::web {

/// Renders the page and its data as one HTML file that needs no server. Values in the data never become
/// markup, and the file's content security policy lets no other script run. Pure.
/// \param title the title of the browser's window
/// \param data a JSON object like `Snapshot` of page/snapshot.ts: `answers` maps the addresses of requests to
///     the tracker's answers
std::string render_snapshot(std::string_view title, std::string_view data);

}  // namespace det::tracker::web
