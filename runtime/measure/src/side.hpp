#pragma once
#include <det/measure/arguments.hpp>
#include <det/measure/contender.hpp>
#include <det/measure/row.hpp>

#include "test_data.hpp"

namespace det::measure {

/// One contender with the buffers for one operation at one size. All functions are collective.
class Side {
public:
    static Result<Side> make(Contender& contender, collectives::DistributedContext& ranks,
                             Operation const& operation, collectives::DataType type, Extent const& extent,
                             Memory memory);

    collectives::TensorCall const& call() const { return call_; }
    /// Runs and measures further iterations.
    Status run(std::uint32_t iterations);
    /// The mean time of an iteration over all calls of run().
    Result<Times> times();
    /// Runs the operation once. Returns on all ranks the number of wrong elements of all ranks together.
    Result<std::uint64_t> count_wrong();

private:
    Side(Contender& contender, collectives::DistributedContext& ranks, collectives::Buffer in,
         collectives::Buffer out);

    Contender* contender_;
    collectives::DistributedContext* ranks_;
    collectives::Buffer in_;  // empty: in place
    collectives::Buffer out_;
    collectives::TensorCall call_;
    std::optional<TestData> data_;
    double total_s_ = 0;  // on this rank
    std::uint32_t iterations_ = 0;
};

}  // namespace det::measure
