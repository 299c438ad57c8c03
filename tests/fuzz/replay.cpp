// Runs the fuzz target once with each file of the directories on the command line.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
    int count = 0;
    for (int i = 1; i < argc; ++i) {
        for (auto const& entry : std::filesystem::directory_iterator(argv[i])) {
            std::cout << entry.path().filename().string()
                      << std::endl;  // if it crashes, the last name is the input
            std::ifstream file(entry.path(), std::ios::binary);
            std::string const bytes(std::istreambuf_iterator<char>(file), {});
            LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
            ++count;
        }
    }
    std::cout << count << " files\n";
    return count > 0 ? 0 : 1;
}
