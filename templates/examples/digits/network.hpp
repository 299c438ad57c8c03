#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data.hpp"

namespace digits {

/// A network of one hidden layer of tanh units and a softmax over ten classes. All weights are in one vector,
/// so that one allreduce sums the gradients of all ranks.
class Network {
public:
    Network(std::size_t hidden_units, std::uint32_t seed);

    std::span<double> weights() { return weights_; }
    std::span<double const> weights() const { return weights_; }

    /// Adds the gradient of the image's loss to `gradient` and returns the loss.
    double accumulate(Image const& image, std::span<double> gradient) const;
    std::size_t predict(Image const& image) const;
    double loss(Image const& image) const;

private:
    /// The outputs of the layers for an image.
    struct Activations {
        std::vector<double> hidden;
        std::array<double, classes> probability;
    };
    Activations forward(Image const& image) const;

    std::size_t hidden_units_;
    std::vector<double> weights_;  // hidden x (pixels + bias), then classes x (hidden + bias)
};

}  // namespace digits
