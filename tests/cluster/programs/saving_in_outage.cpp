// saving_in_outage: reports a metric every 50 ms until the file ~/stop exists, and writes the number of steps
// to
// ~/steps. When ~/save exists it saves 1 MiB while it goes on, and writes the end of the save to ~/saved.
#include <det/checkpoint/state.hpp>
#include <det/core/context.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

using namespace det;

class Training {
public:
    explicit Training(core::Context& context) : context_(context) {
        state_.push_back(checkpoint::NamedTensor::whole("values", checkpoint::DataType::int64,
                                                        {values_.size()}, values_.data()));
    }
    Status run() {
        for (std::uint64_t step = 1; !path_exists(home_ / "stop"); ++step) {
            values_[0] = static_cast<std::int64_t>(step);
            DET_TRY(context_.train().report_metrics("training", step,
                                                    Json{{"loss", 1.0 / static_cast<double>(step)}}));
            if (!has_begun_ && path_exists(home_ / "save")) {
                DET_TRY(context_.checkpoint().save(step, Json::object(), state_));
                has_begun_ = true;
                DET_TRY(write_file(home_ / "saving", "yes"));
            }
            DET_TRY_ASSIGN(auto const ended, context_.checkpoint().poll());
            for (auto const& save : ended)
                DET_TRY(write_file(home_ / "saved", save.error ? save.error->message : save.uuid));
            DET_TRY(write_file(home_ / "steps", std::to_string(step)));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return context_.close();
    }

private:
    core::Context& context_;
    std::filesystem::path const home_ = std::getenv("HOME");
    std::vector<std::int64_t> values_ = std::vector<std::int64_t>(128 << 10);
    checkpoint::State state_;
    bool has_begun_ = false;
};

}  // namespace

int main() {
    auto context = core::Context::init();
    auto const done = context ? Training(*context).run() : Status(context.error());
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return 1;
}
