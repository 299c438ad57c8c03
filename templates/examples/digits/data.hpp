#pragma once
#include <det/foundation/result.hpp>

#include <array>
#include <filesystem>
#include <span>
#include <vector>

namespace digits {

inline constexpr std::size_t side = 8;
inline constexpr std::size_t pixels = side * side;
inline constexpr std::size_t classes = 10;
inline constexpr std::size_t test_images = 357;  // the last ones; 1440 train

struct Image {
    std::array<double, pixels> ink;  // 0 to 1
    std::size_t label;
};

/// Shifts an image by that many pixels. Pixels that come in at the edges are empty.
Image shifted(Image const& image, int right, int down);

/// Reads a gzipped CSV. Each line has 64 numbers from 0 to 16 and the digit.
det::Result<std::vector<Image>> load_images(std::filesystem::path const& path);

inline std::span<Image const> training_set(std::vector<Image> const& images) {
    return std::span(images).first(images.size() - test_images);
}
inline std::span<Image const> test_set(std::vector<Image> const& images) {
    return std::span(images).last(test_images);
}

}  // namespace digits
