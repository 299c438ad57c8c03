#pragma once
#include <det/measure/arguments.hpp>
#include <det/measure/contender.hpp>
#include <det/measure/row.hpp>

#include "test_data.hpp"

namespace det::measure {

/// A contender at one operation of one size, with memory of its own. Collective.
class Side {
public:
    static Result<Side> make(Contender& contender, collectives::DistributedContext& ranks,
                             Operation const& operation, collectives::DataType type, Extent const& extent,
                             Memory memory);

    collectives::TensorCall const& call() const { return call_; }
    /// Some iterations more.
    Status run(std::uint32_t iterations);
    /// Of an iteration, of all that were run.
    Result<Times> times();
    /// Elements that are wrong on any rank, in a result that is made for this.
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
    double total_s_ = 0;  // of this rank
    std::uint32_t iterations_ = 0;
};

}  // namespace det::measure
