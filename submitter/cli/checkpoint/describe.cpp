#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

Json tensors_json(CheckpointManifest const& manifest) {
    auto list = Json::array();
    for (auto const& tensor : manifest.tensors) {
        auto files = Json::array();
        for (auto const& slice : tensor.slices) files.push_back(slice.file);
        list.push_back(
            {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"files", files}});
    }
    return list;
}

class CheckpointDescribe final : public Command {
public:
    std::vector<Option> options() override { return {{"uuid", &uuid_, "the checkpoint", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        auto const& foreign = session.foreign_root;
        DET_TRY_ASSIGN(auto const checkpoint,
                       experiment::find_checkpoint(root, uuid_, session.environment,
                                                   foreign ? std::optional(foreign->owner) : std::nullopt));
        session.answer(as_json(checkpoint), as_text(checkpoint, answer_style_of(session)));
        return ExitCode::done;
    }

private:
    static Json as_json(experiment::FoundCheckpoint const& checkpoint) {
        auto const& manifest = checkpoint.manifest;
        return {{"uuid", manifest.uuid},
                {"run", manifest.run},
                {"steps_completed", manifest.steps_completed},
                {"time", format_utc(manifest.time)},
                {"world_size", manifest.world_size},
                {"path", checkpoint.address()},
                {"size_bytes", experiment::total_size(manifest)},
                {"resources", resources_of(manifest)},
                {"metadata", manifest.metadata},
                {"tensors", tensors_json(manifest)}};
    }

    static std::string as_text(experiment::FoundCheckpoint const& checkpoint, AnswerStyle const& style) {
        auto const& manifest = checkpoint.manifest;
        auto text = fmt::format(
            "Checkpoint {}\nRun: {}\nSteps: {}\nTime: {}\nRanks: {}\nSize: {}\nPath: {}\nMetadata: {}\n\n",
            manifest.uuid, manifest.run.empty() ? "none" : escape_control(manifest.run),
            manifest.steps_completed, style.time(manifest.time), manifest.world_size,
            format_size(experiment::total_size(manifest)), escape_control(checkpoint.address()),
            escape_control(to_line(manifest.metadata)));
        Table files({"File", "Size", "CRC-32C"});
        for (auto const& file : manifest.files)
            files.add({file.path, format_size(file.size_bytes), fmt::format("{:08x}", file.crc32c)});
        text += files.render(style);
        if (manifest.tensors.empty()) return text;
        Table tensors({"Tensor", "Type", "Shape", "Parts"});
        for (auto const& tensor : manifest.tensors) {
            tensors.add({tensor.name, tensor.dtype, fmt::format("{}", tensor.shape),
                         std::to_string(tensor.slices.size())});
        }
        return text + "\n" + tensors.render(style);
    }

    std::string uuid_;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_describe() { return std::make_unique<CheckpointDescribe>(); }

}  // namespace det::cli
