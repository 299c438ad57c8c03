// digits DATA                            trains a network as the experiment says
// digits compare CHECKPOINT CHECKPOINT   prints how much two trained networks differ
#include <det/core/context.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>

#include "data.hpp"
#include "network.hpp"

namespace {

using namespace digits;
using det::Ok;
using det::Result;
using det::Status;

constexpr char weights_file[] = "weights";          // doubles
constexpr char predictions_file[] = "predictions";  // a digit per test image
constexpr std::size_t default_epochs = 40;          // if no experiment says how long to train

struct Settings {
    std::size_t global_batch_size, hidden_units;
    double learning_rate;
    std::uint32_t seed;
};

Settings settings_of(det::core::Context const& context) {
    auto const& parameters = context.hyperparameters();
    auto const* info = context.info();
    return {parameters.value("global_batch_size", std::size_t{64}),
            parameters.value("hidden_units", std::size_t{48}), parameters.value("learning_rate", 1.0),
            info != nullptr && info->trial ? info->trial->trial_seed : 1};
}

std::string to_bytes(std::span<double const> values) {
    return {reinterpret_cast<char const*>(values.data()), values.size_bytes()};
}

std::string predictions_of(Network const& network, std::span<Image const> images) {
    std::string digits;
    for (auto const& image : images) digits += static_cast<char>('0' + network.predict(image));
    return digits;
}

/// A training sample: an image, and by how many pixels it is shifted. A shifted image shows the same digit.
struct AugmentedSample {
    std::size_t image;
    int right = 0, down = 0;
};

/// The samples of an epoch in their order, which is the same on every rank and in every run.
std::vector<AugmentedSample> augmented_samples(std::size_t images, std::uint32_t seed, std::size_t epoch) {
    constexpr std::uint32_t shifted_in_ten = 3;
    std::mt19937 random(seed + static_cast<std::uint32_t>(epoch) * 7919);
    auto const step = [&random] { return static_cast<int>(random() % 3) - 1; };
    std::vector<AugmentedSample> samples(images);
    for (std::size_t i = 0; i < images; ++i) {
        samples[i].image = i;
        if (random() % 10 < shifted_in_ten) samples[i] = {i, step(), step()};
    }
    for (std::size_t i = images - 1; i > 0; --i) std::swap(samples[i], samples[random() % (i + 1)]);
    return samples;
}

class Training {
public:
    Training(det::core::Context& context, std::vector<Image> const& images)
        : context_(context),
          settings_(settings_of(context)),
          images_(images),
          steps_(context.searcher().batches_left(0).value_or(default_epochs * batches_per_epoch())),
          network_(settings_.hidden_units, settings_.seed),
          gradient_(network_.weights().size() + 1) {}

    Status run() {
        DET_TRY(resume());
        while (step_ < steps_) {
            DET_TRY(train_batch());
            if (is_end_of_epoch() || step_ == steps_) DET_TRY(validate_and_save());
            DET_TRY_ASSIGN(bool const preempted, context_.preempt().should_preempt());
            if (preempted) {
                DET_TRY(save_before_preemption());
                return context_.close();
            }
        }
        return context_.close();
    }

private:
    std::size_t batches_per_epoch() const {
        return (training_set(images_).size() + settings_.global_batch_size - 1) / settings_.global_batch_size;
    }

    bool is_end_of_epoch() const { return step_ % batches_per_epoch() == 0; }

    /// Number of images of the current epoch that were trained.
    std::size_t images_trained() const {
        return is_end_of_epoch() ? training_set(images_).size()
                                 : step_ % batches_per_epoch() * settings_.global_batch_size;
    }

    /// Every rank reads the newest checkpoint, if there is one.
    Status resume() {
        auto const uuid = context_.checkpoint().latest();
        if (!uuid) return Ok{};
        DET_TRY_ASSIGN(auto const path, context_.checkpoint().restore_path(*uuid));
        DET_TRY_ASSIGN(auto const manifest, context_.checkpoint().load_manifest(*uuid));
        DET_TRY_ASSIGN(auto const bytes, det::read_file(path / weights_file));
        auto const weights = network_.weights();
        if (bytes.size() != weights.size_bytes()) {
            return det::Error{det::codes::checkpoint_damaged, "the checkpoint is of another network"};
        }
        std::memcpy(weights.data(), bytes.data(), bytes.size());
        step_ = manifest.steps_completed;
        epoch_loss_ = manifest.metadata->value("epoch_loss", 0.0);
        if (context_.distributed().is_chief()) std::printf("resumed at step %zu\n", step_);
        return Ok{};
    }

    /// Computes the gradient of this rank's share of the batch; allreduce gives the gradient of the whole
    /// batch.
    Status train_batch() {
        auto const training = training_set(images_);
        auto const batch = step_ % batches_per_epoch();
        if (samples_.empty() || batch == 0) {
            samples_ = augmented_samples(training.size(), settings_.seed, step_ / batches_per_epoch());
        }
        auto const begin = batch * settings_.global_batch_size;
        auto const size = std::min(settings_.global_batch_size, training.size() - begin);
        auto& distributed = context_.distributed();
        auto const rank = static_cast<std::size_t>(distributed.rank().value);
        auto const ranks = static_cast<std::size_t>(distributed.size());

        std::fill(gradient_.begin(), gradient_.end(), 0);
        auto const of_weights = std::span(gradient_).first(network_.weights().size());
        for (auto i = begin + size * rank / ranks; i < begin + size * (rank + 1) / ranks; ++i) {
            auto const& sample = samples_[i];
            gradient_.back() +=
                network_.accumulate(shifted(training[sample.image], sample.right, sample.down), of_weights);
        }
        DET_TRY(distributed.allreduce(std::span(gradient_), det::collectives::ReduceOp::sum));
        auto const weights = network_.weights();
        auto const progress = static_cast<double>(step_) / static_cast<double>(steps_);
        auto const rate = settings_.learning_rate * (1 - progress) / static_cast<double>(size);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= rate * gradient_[i];
        epoch_loss_ += gradient_.back();
        ++step_;
        return Ok{};
    }

    /// Runs after each epoch, and at the end of the training, which may be in the middle of an epoch.
    Status validate_and_save() {
        auto const epoch = (step_ + batches_per_epoch() - 1) / batches_per_epoch();
        auto const loss = epoch_loss_ / static_cast<double>(images_trained());
        if (is_end_of_epoch()) epoch_loss_ = 0;
        saved_step_ = step_;
        if (!context_.distributed().is_chief()) return Ok{};
        DET_TRY(context_.train().report_training_metrics(step_, {{"loss", loss}}));
        auto const test = test_set(images_);
        double test_loss = 0;
        std::size_t correct = 0;
        for (auto const& image : test) {
            test_loss += network_.loss(image);
            correct += network_.predict(image) == image.label ? 1 : 0;
        }
        auto const share = static_cast<double>(correct) / static_cast<double>(test.size());
        DET_TRY(context_.train().report_validation_metrics(
            step_, {{"loss", test_loss / static_cast<double>(test.size())}, {"correct", share}}));
        DET_TRY(context_.train().report_progress(static_cast<double>(step_) / static_cast<double>(steps_)));
        std::printf("epoch %zu: loss %.4f, %.4f of the test images are right\n", epoch, loss, share);
        std::fflush(stdout);
        return save();
    }

    Status save() {
        DET_TRY(context_.checkpoint().store(step_, {{"epoch_loss", epoch_loss_}},
                                            [this](auto const& path) { return write(path); }));
        return Ok{};
    }

    /// Saves the middle of an epoch if there is time for it. Otherwise the trial repeats the epoch when it
    /// resumes.
    Status save_before_preemption() {
        if (saved_step_ == step_) return Ok{};
        DET_TRY_ASSIGN(bool const saved, context_.checkpoint().store_before_preemption(
                                             step_, {{"epoch_loss", epoch_loss_}},
                                             [this](auto const& path) { return write(path); }));
        if (!saved && context_.distributed().is_chief())
            std::printf("no time is left to save step %zu: the epoch will be done again\n", step_);
        return Ok{};
    }

    Status write(std::filesystem::path const& path) const {
        DET_TRY(det::write_file(path / weights_file, to_bytes(network_.weights())));
        return det::write_file(path / predictions_file, predictions_of(network_, test_set(images_)));
    }

    det::core::Context& context_;
    Settings settings_;
    std::vector<Image> const& images_;
    std::size_t steps_;
    Network network_;
    std::vector<double> gradient_;          // followed by the loss
    std::vector<AugmentedSample> samples_;  // of the current epoch
    std::size_t step_ = 0, saved_step_ = 0;
    double epoch_loss_ = 0;  // the sum over the images of the current epoch
};

Status train(std::filesystem::path const& data) {
    DET_TRY_ASSIGN(auto context, det::core::Context::init());
    DET_TRY_ASSIGN(auto const images, load_images(data));
    return Training(context, images).run();
}

Status compare(std::filesystem::path const& a, std::filesystem::path const& b) {
    DET_TRY_ASSIGN(auto const bytes_a, det::read_file(a / weights_file));
    DET_TRY_ASSIGN(auto const bytes_b, det::read_file(b / weights_file));
    DET_TRY_ASSIGN(auto const predictions_a, det::read_file(a / predictions_file));
    DET_TRY_ASSIGN(auto const predictions_b, det::read_file(b / predictions_file));
    if (bytes_a.size() != bytes_b.size())
        return det::Error{det::codes::bad_value, "the networks differ in size"};
    double largest = 0;
    for (std::size_t at = 0; at < bytes_a.size(); at += sizeof(double)) {
        double x = 0, y = 0;
        std::memcpy(&x, bytes_a.data() + at, sizeof x);
        std::memcpy(&y, bytes_b.data() + at, sizeof y);
        if (x != y) largest = std::max(largest, std::abs(x - y) / std::max(std::abs(x), std::abs(y)));
    }
    std::printf("largest relative difference of a weight: %.2e\n", largest);
    std::printf("predictions: %s\n", predictions_a == predictions_b ? "equal" : "different");
    if (predictions_a != predictions_b || largest > 1e-9) {
        return det::Error{det::codes::bad_value, "the networks differ"};
    }
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    Status done = det::Error{det::codes::usage, "usage: digits DATA | digits compare CHECKPOINT CHECKPOINT"};
    if (arguments.size() == 1) done = train(arguments[0]);
    if (arguments.size() == 3 && arguments[0] == "compare") done = compare(arguments[1], arguments[2]);
    if (done) return 0;
    print(std::cerr, done.error(), {det::Colour::never, "digits"});
    return det::to_int(done.error().code.exit);
} catch (std::exception const& surprise) {
    std::cerr << "digits: " << surprise.what() << '\n';
    return det::to_int(det::ExitCode::internal);
}
