#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <vector>

#include "contestant.hpp"

namespace det::bench {
namespace {

class MpiContestant final : public Contestant {
public:
    MpiContestant() {
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~MpiContestant() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::span<float> memory(std::size_t count, bool) override {
        constexpr std::size_t page = 4096;
        auto const bytes = (count * sizeof(float) + page - 1) / page * page;
        auto* const memory = std::aligned_alloc(page, bytes);
        std::memset(memory, 0, bytes);
        return {static_cast<float*>(memory), count};
    }
    void allreduce(std::span<float> values) override {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    std::size_t allgather(std::span<char const> value, std::span<int const> sizes) override {
        std::size_t sum = 0;
        places_.clear();
        for (int const size : sizes) {
            places_.push_back(static_cast<int>(sum));
            sum += static_cast<std::size_t>(size);
        }
        if (gathered_.size() < sum) gathered_.resize(sum);
        MPI_Allgatherv(value.data(), static_cast<int>(value.size()), MPI_CHAR, gathered_.data(), sizes.data(),
                       places_.data(), MPI_CHAR, MPI_COMM_WORLD);
        return sum;
    }

private:
    int rank_ = 0, size_ = 1;
    std::vector<int> places_;
    std::vector<char> gathered_;
};

}  // namespace

std::unique_ptr<Contestant> make_contestant(int, char**) { return std::make_unique<MpiContestant>(); }

}  // namespace det::bench
