#pragma once
#include <det/tracker/http/routes.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace det::tracker::http {

/// Gives equal requests of many viewers one answer: while an answer is made, equal requests wait for it, and
/// a request that comes soon after it gets it too, unless something was recorded in between. Thread-safe.
class ResponseCache {
public:
    /// \param change_number becomes another number when anything was recorded; empty: it never does
    /// \param age_max how old an answer may be that a request gets; 0: requests never share an answer that is
    ///     complete
    ResponseCache(std::function<std::int64_t()> change_number, std::chrono::milliseconds age_max);
    ~ResponseCache();

    /// The same route with shared answers. Its handler must not use Responder::respond_at().
    Route share(Route route);

private:
    class Table;
    std::shared_ptr<Table> table_;
};

}  // namespace det::tracker::http
