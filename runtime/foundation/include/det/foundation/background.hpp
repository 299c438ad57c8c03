#pragma once
#include <det/foundation/start_thread.hpp>

#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace det {

/// Computes a value in a thread of its own, so that its owner can wait for something else meanwhile. The
/// destructor waits for the end of the thread.
template <class Value>
class Background {
public:
    /// \param thread_name at most 15 characters
    /// \param compute must not throw; what it refers to must outlive this object
    Background(char const* thread_name, std::function<Value()> compute)
        : thread_(start_thread(thread_name, [this, compute = std::move(compute)](std::stop_token const&) {
              value_.emplace(compute());
          })) {}
    Background(Background const&) = delete;
    Background& operator=(Background const&) = delete;

    /// Waits for the value. Call it once.
    Value join() {
        thread_.join();
        return *std::move(value_);
    }

private:
    std::optional<Value> value_;  // written by the thread
    std::jthread thread_;
};

}  // namespace det
