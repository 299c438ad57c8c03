#include "written_files.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "error_message.hpp"

namespace det::checkpoint {
namespace {

Result<std::vector<CheckpointFile>> parse_written(std::string const& text) {
    auto carrier = parse_manifest(text);
    if (!carrier) return parse_error(text);
    return std::move(carrier->files);
}

}  // namespace

std::string render_written(Result<std::vector<CheckpointFile>> const& written) {
    if (!written) return render_error(written.error());
    CheckpointManifest carrier;
    carrier.files = *written;
    return render_manifest(carrier);
}

Result<std::vector<CheckpointFile>> collect_written(std::vector<std::string> const& texts) {
    std::vector<CheckpointFile> files;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        auto of_rank = parse_written(texts[rank]);
        if (!of_rank) return std::move(of_rank).error().noting(fmt::format("rank {} says so", rank));
        std::ranges::move(*of_rank, std::back_inserter(files));
    }
    return files;
}

}  // namespace det::checkpoint
