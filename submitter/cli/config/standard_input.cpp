#include "config/standard_input.hpp"

#include <fmt/format.h>
#include <istream>

namespace det::cli {

Status read_config_if_stdin(experiment::ConfigSources& sources, Session& session) {
    if (sources.file != "-") return Ok{};
    sources.file = "stdin";
    if (session.in == nullptr) return Error{codes::usage, "there is no standard input", "name a file"};
    std::string text(experiment::config_limit_bytes + 1, '\0');
    session.in->read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(session.in->gcount()));
    if (text.size() > experiment::config_limit_bytes)
        return Error{codes::document_too_large,
                     fmt::format("standard input has more than {} bytes", experiment::config_limit_bytes)};
    sources.text = std::move(text);
    return Ok{};
}

}  // namespace det::cli
