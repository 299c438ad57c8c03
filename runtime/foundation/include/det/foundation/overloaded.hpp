#pragma once

namespace det {

/// Makes one function object of several, for std::visit: the call picks the overload of the alternative.
template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace det
