#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace digits {
namespace {

/// Weighted sum of the inputs plus the bias that follows their weights.
double unit(std::span<double const> weights, std::span<double const> inputs) {
    double sum = weights[inputs.size()];
    for (std::size_t i = 0; i < inputs.size(); ++i) sum += weights[i] * inputs[i];
    return sum;
}

void add_scaled(std::span<double> gradient, double factor, std::span<double const> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) gradient[i] += factor * inputs[i];
    gradient[inputs.size()] += factor;
}

}  // namespace

Network::Network(std::size_t hidden_units, std::uint32_t seed)
    : hidden_units_(hidden_units), weights_(hidden_units * (pixels + 1) + classes * (hidden_units + 1)) {
    std::mt19937 random(seed);
    // Not std::normal_distribution: its numbers depend on the library, and these must be the same everywhere.
    for (auto& weight : weights_) weight = (static_cast<double>(random()) / 4294967296.0 - 0.5) * 0.3;
}

Network::Activations Network::forward(Image const& image) const {
    Activations out{std::vector<double>(hidden_units_), {}};
    std::span<double const> const all(weights_);
    for (std::size_t h = 0; h < hidden_units_; ++h) {
        out.hidden[h] = std::tanh(unit(all.subspan(h * (pixels + 1)), image.ink));
    }
    auto const upper = all.subspan(hidden_units_ * (pixels + 1));
    for (std::size_t c = 0; c < classes; ++c)
        out.probability[c] = unit(upper.subspan(c * (hidden_units_ + 1)), out.hidden);
    auto const largest = *std::max_element(out.probability.begin(), out.probability.end());
    double sum = 0;
    for (auto& value : out.probability) sum += value = std::exp(value - largest);
    for (auto& value : out.probability) value /= sum;
    return out;
}

double Network::accumulate(Image const& image, std::span<double> gradient) const {
    auto const out = forward(image);
    std::span<double const> const upper = std::span(weights_).subspan(hidden_units_ * (pixels + 1));
    auto const upper_gradient = gradient.subspan(hidden_units_ * (pixels + 1));
    std::vector<double> back(hidden_units_);
    for (std::size_t c = 0; c < classes; ++c) {
        double const error = out.probability[c] - (c == image.label ? 1 : 0);
        for (std::size_t h = 0; h < hidden_units_; ++h) back[h] += error * upper[c * (hidden_units_ + 1) + h];
        add_scaled(upper_gradient.subspan(c * (hidden_units_ + 1)), error, out.hidden);
    }
    for (std::size_t h = 0; h < hidden_units_; ++h) {
        add_scaled(gradient.subspan(h * (pixels + 1)), back[h] * (1 - out.hidden[h] * out.hidden[h]),
                   image.ink);
    }
    return -std::log(out.probability[image.label]);
}

std::size_t Network::predict(Image const& image) const {
    auto const out = forward(image);
    return static_cast<std::size_t>(std::max_element(out.probability.begin(), out.probability.end()) -
                                    out.probability.begin());
}

double Network::loss(Image const& image) const { return -std::log(forward(image).probability[image.label]); }

}  // namespace digits
