#include <det/foundation/text.hpp>
#include <det/protocol/trusted_ancestors.hpp>

namespace det {

TrustRules trust_rules(Environment const& environment) {
    TrustRules rules;
    auto const list = environment.find(variables::trusted_ancestors).value_or("");
    for (auto const path : split(list, ':')) {
        if (!path.empty()) rules.trusted_ancestors.emplace_back(path);
    }
    return rules;
}

}  // namespace det
