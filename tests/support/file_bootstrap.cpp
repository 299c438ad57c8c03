#include "file_bootstrap.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace det::transport {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

class FileBootstrap final : public Bootstrap {
public:
    FileBootstrap(Rank rank, int size, fs::path directory, BootstrapOptions options)
        : Bootstrap(rank, size), directory_(std::move(directory)), options_(options) {}

private:
    fs::path path_of(Rank from, std::string const& key) const {
        return directory_ / fmt::format("{}.{}", from.value, key);
    }
    Status do_put(std::string const& key, std::string const& value) override;
    Result<std::string> do_get(Rank from, std::string const& key) override;
    Result<std::vector<std::string>> do_allgather(std::string const& value) override;

    fs::path directory_;
    BootstrapOptions options_;
    std::uint64_t gathers_ = 0;
};

Status FileBootstrap::do_put(std::string const& key, std::string const& value) {
    DET_TRY_ASSIGN(bool const is_new, write_new_file(path_of(rank(), key), value));
    if (is_new) return Ok{};
    return Error{codes::misuse, fmt::format("'{}' has a value that rank {} put in another run",
                                            directory_.string(), rank().value)};
}

Result<std::string> FileBootstrap::do_get(Rank from, std::string const& key) {
    using namespace std::chrono_literals;
    auto const deadline = steady_clock::now() + options_.timeout;
    for (auto pause = 1ms;; pause = std::min(pause * 2, 50ms)) {
        auto value = read_file(path_of(from, key), value_limit_bytes);
        if (value || value.error().code != codes::no_such_file) return value;
        if (steady_clock::now() >= deadline) {
            return Error{codes::timed_out,
                         fmt::format("rank {} has not put '{}' into '{}' within {} ms", from.value, key,
                                     directory_.string(), options_.timeout.count())};
        }
        std::this_thread::sleep_for(pause);
    }
}

Result<std::vector<std::string>> FileBootstrap::do_allgather(std::string const& value) {
    auto const key = fmt::format("allgather-{}", gathers_++);
    DET_TRY(do_put(key, value));
    std::vector<std::string> values;
    for (int from = 0; from < size(); ++from) {
        DET_TRY_ASSIGN(auto of_rank, do_get({from}, key));
        values.push_back(std::move(of_rank));
    }
    return values;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_file_bootstrap(Rank rank, int size, fs::path directory,
                                                       BootstrapOptions options) {
    DET_TRY(make_directories(directory));
    return Result<std::unique_ptr<Bootstrap>>(
        std::make_unique<FileBootstrap>(rank, size, std::move(directory), options));
}

}  // namespace det::transport
