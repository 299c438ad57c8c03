#include "data.hpp"

#include <det/foundation/text.hpp>

#include <cstdlib>
#include <memory>
#include <zlib.h>

namespace digits {
namespace {

constexpr double darkest = 16;

det::Result<Image> parse_line(std::string_view line) {
    auto const fields = det::split(det::trim(line), ',');
    if (fields.size() != pixels + 1) return det::Error{det::codes::bad_value, "a line has not 65 numbers"};
    Image image{};
    for (std::size_t i = 0; i < pixels; ++i)
        image.ink[i] = std::atof(std::string(fields[i]).c_str()) / darkest;
    image.label = static_cast<std::size_t>(std::atof(std::string(fields[pixels]).c_str()));
    if (image.label >= classes) return det::Error{det::codes::bad_value, "a label is no digit"};
    return image;
}

}  // namespace

Image shifted(Image const& image, int right, int down) {
    Image result{{}, image.label};
    auto const inside = [](int at) { return at >= 0 && at < static_cast<int>(side); };
    for (int y = 0; y < static_cast<int>(side); ++y) {
        for (int x = 0; x < static_cast<int>(side); ++x) {
            if (!inside(x - right) || !inside(y - down)) continue;
            auto const from = static_cast<std::size_t>(y - down) * side + static_cast<std::size_t>(x - right);
            result.ink[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)] = image.ink[from];
        }
    }
    return result;
}

det::Result<std::vector<Image>> load_images(std::filesystem::path const& path) {
    auto const close = [](gzFile file) { gzclose(file); };
    std::unique_ptr<std::remove_pointer_t<gzFile>, decltype(close)> const file(gzopen(path.c_str(), "rb"),
                                                                               close);
    if (!file) return det::Error{det::codes::no_such_file, "cannot open '" + path.string() + "'"};
    std::vector<Image> images;
    std::array<char, 4096> line;
    while (gzgets(file.get(), line.data(), static_cast<int>(line.size())) != nullptr) {
        DET_TRY_ASSIGN(auto image, parse_line(line.data()));
        images.push_back(image);
    }
    if (images.size() <= test_images)
        return det::Error{det::codes::bad_value, "'" + path.string() + "' has too few images"};
    return images;
}

}  // namespace digits
