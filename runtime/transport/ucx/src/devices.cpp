#include "devices.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>

namespace det::transport::ucx {

std::string ucx_devices(std::string_view interfaces, std::filesystem::path const& sys) {
    std::vector<std::string> devices;
    for (auto const piece : split(interfaces, ',')) {
        auto const name = trim(piece);
        if (name.empty()) continue;
        auto const interface = sys / "class/net" / name;
        auto const adapters = list_directory(interface / "device/infiniband");
        if (!adapters) continue;
        auto const text = read_file(interface / "dev_port");
        auto const port = text ? parse_integer<int>(trim(*text)).value_or(0) : 0;
        for (auto const& adapter : *adapters) devices.push_back(fmt::format("{}:{}", adapter, port + 1));
    }
    return join(devices, ",");
}

}  // namespace det::transport::ucx
