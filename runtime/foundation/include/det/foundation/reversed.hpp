#pragma once

namespace det {

/// Replaces std::views::reverse for lvalue containers: clang 14 can't compile the views of libstdc++ 12.
template <class Container>
class Reversed {
public:
    explicit Reversed(Container const& container) : container_(container) {}
    auto begin() const { return container_.rbegin(); }
    auto end() const { return container_.rend(); }

private:
    Container const& container_;
};

template <class Container>
Reversed<Container> reversed(Container const& container) {
    return Reversed<Container>(container);
}
template <class Container>
void reversed(Container const&& container) = delete;

}  // namespace det
