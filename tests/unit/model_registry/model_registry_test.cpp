#include <det/foundation/files.hpp>
#include <det/model_registry/model_changes.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <thread>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::model_registry;

namespace model_registry_test {

constexpr UtcTime noon{1'795'262'400'000'000};

struct Fixture {
    TemporaryDirectory directory;
    RootLayout root{directory / "det"};
    std::int64_t minutes = 0;

    Result<Registry> change(Decide const& decide) {
        return change_registry(root, {noon.microseconds + ++minutes * 60'000'000}, "ada@login", decide);
    }
    Result<Registry> create(std::string const& name) {
        return change([&](Registry const& now) { return create_model(now, {name}); });
    }
    Result<Registry> add_version(std::string const& model, std::string const& uuid) {
        return change([&](Registry const& now) {
            return register_version(now, model, {uuid, "7.0.0", 100});
        });
    }
    Result<Registry> remove(std::string const& model, std::optional<std::uint32_t> version = {}) {
        return change([&](Registry const& now) { return delete_model(now, model, version); });
    }
    std::filesystem::path event_path(int number) const {
        return root.models() / "events" / (std::to_string(number) + "-model.json");
    }
};

}  // namespace model_registry_test

BOOST_FIXTURE_TEST_SUITE(model_registry_test, Fixture)

BOOST_AUTO_TEST_CASE(without_a_directory_the_registry_is_empty) {
    auto const registry = must(load_registry(root));
    BOOST_TEST(registry.models.empty());
    BOOST_TEST(!path_exists(root.models()));
}

BOOST_AUTO_TEST_CASE(models_and_versions_count_up) {
    must(create("mnist"));
    must(create("cifar"));
    must(add_version("mnist", "a"));
    must(add_version("1", "b"));
    auto const registry = must(load_registry(root));
    BOOST_REQUIRE(registry.models.size() == 2u);
    auto const& mnist = registry.models[0];
    BOOST_TEST(mnist.id == 1u);
    BOOST_REQUIRE(mnist.versions.size() == 2u);
    BOOST_TEST(mnist.versions[1].number == 2u);
    BOOST_TEST(mnist.versions[1].checkpoint.uuid == "b");
    BOOST_TEST(mnist.versions[1].checkpoint.run == "7.0.0");
    BOOST_TEST(mnist.by == "ada@login");
    BOOST_TEST(mnist.created.microseconds == noon.microseconds + 60'000'000);
    BOOST_TEST(mnist.updated.microseconds == noon.microseconds + 4 * 60'000'000);
    BOOST_TEST((registered_checkpoints(registry) == std::set<std::string>{"a", "b"}));
    BOOST_TEST(must_fail(add_version("mnits", "c")).hint == "use 'mnist'");
    BOOST_TEST((must_fail(add_version("3", "c")).code == codes::no_such_model));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_deleted_models_and_versions_are_not_used_again) {
    must(create("mnist"));
    must(add_version("mnist", "a"));
    must(add_version("mnist", "b"));
    must(remove("mnist", 2));
    auto registry = must(add_version("mnist", "c"));
    BOOST_TEST(registry.models[0].versions.back().number == 3u);
    BOOST_TEST((registered_checkpoints(registry) == std::set<std::string>{"a", "c"}));
    BOOST_TEST((must_fail(remove("mnist", 2)).code == codes::no_such_version));
    must(remove("mnist"));
    BOOST_TEST(registered_checkpoints(must(load_registry(root))).empty());
    registry = must(create("mnist"));  // the name is free again
    BOOST_TEST(registry.models.back().id == 2u);
}

BOOST_AUTO_TEST_CASE(a_name_names_one_model) {
    must(create("mnist"));
    must(create("cifar"));
    auto const error = must_fail(create("mnist"));
    BOOST_TEST((error.code == codes::name_taken));
    BOOST_TEST(error.message == "there is a model 'mnist': it has the id 1");
    auto const rename = [&](std::string const& name) {
        return change([&](Registry const& now) { return update_model(now, "cifar", {}, {name}); });
    };
    BOOST_TEST((must_fail(rename("mnist")).code == codes::name_taken));
    must(rename("cifar"));
    for (auto const* name : {"", " \t", "7", "a\x1b[31m", "a\nb", "a\xff"})
        BOOST_TEST((must_fail(create(name)).code == codes::usage), name);
    must(create("ResNet 50, v1.5 (größer)"));
}

BOOST_AUTO_TEST_CASE(an_archived_model_is_not_changed) {
    must(create("mnist"));
    must(change([](Registry const& now) { return archive_model(now, "mnist"); }));
    auto const error = must_fail(add_version("mnist", "a"));
    BOOST_TEST((error.code == codes::wrong_state));
    BOOST_TEST(error.hint == "first 'det-submit model unarchive 1'");
    must(change([](Registry const& now) { return unarchive_model(now, "mnist"); }));
    must(add_version("mnist", "a"));
}

BOOST_AUTO_TEST_CASE(attributes_are_those_of_the_last_change) {
    must(create("mnist"));
    must(add_version("mnist", "a"));
    AttributeChanges changes;
    changes.description = "digits";
    changes.labels = std::vector<std::string>{"b", "a"};
    changes.metadata = JsonValue(Json{{"accuracy", 0.9}});
    must(change([&](Registry const& now) { return update_model(now, "mnist", {}, changes); }));
    must(change([](Registry const& now) { return update_model(now, "mnist", 1, {{}, {}, "best so far"}); }));
    auto const model = must(load_registry(root)).models.at(0);
    BOOST_TEST(model.attributes.name == "mnist");
    BOOST_TEST(model.attributes.description == "digits");
    BOOST_TEST(model.attributes.labels == (std::vector<std::string>{"b", "a"}),
               boost::test_tools::per_element());
    BOOST_TEST(model.attributes.metadata == (Json{{"accuracy", 0.9}}));
    BOOST_TEST(model.attributes.notes == "");
    BOOST_TEST(model.versions[0].attributes.notes == "best so far");
    BOOST_TEST(model.versions[0].attributes.name == "");
}

BOOST_AUTO_TEST_CASE(
    of_concurrent_creations_of_a_name_one_succeeds_and_versions_are_made_one_after_the_other) {
    constexpr int writers = 8;
    std::vector<Result<Registry>> created(writers, Registry{}), registered(writers, Registry{});
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < writers; ++i) {
            threads.emplace_back([&, i] {
                auto const at = static_cast<std::size_t>(i);
                created[at] = change_registry(root, noon, "ada@login", [](Registry const& now) {
                    return create_model(now, {"mnist"});
                });
                registered[at] = change_registry(root, noon, "ada@login", [&](Registry const& now) {
                    return register_version(now, "mnist", {std::to_string(i), "", 0});
                });
            });
        }
    }
    BOOST_TEST(std::ranges::count_if(created, [](auto const& each) { return each.has_value(); }) == 1);
    auto const registry = must(load_registry(root));
    BOOST_REQUIRE(registry.models.size() == 1u);
    BOOST_TEST(registry.models[0].versions.size() == std::size_t{writers});
    BOOST_TEST(registry.models[0].versions_made == unsigned{writers});
    BOOST_TEST(registered_checkpoints(registry).size() == std::size_t{writers});
}

BOOST_AUTO_TEST_CASE(a_missing_or_damaged_event_is_an_error) {
    must(create("mnist"));
    must(add_version("mnist", "a"));
    must(add_version("mnist", "b"));
    auto const text = must(read_file(event_path(2)));
    std::filesystem::remove(event_path(2));
    BOOST_TEST((must_fail(load_registry(root)).code == codes::damaged));
    BOOST_TEST((must_fail(create("other")).code == codes::damaged));
    must(write_file(event_path(2), text.substr(0, text.size() / 2)));
    BOOST_TEST((must_fail(load_registry(root)).code == codes::damaged));
    must(write_file(event_path(2), text));
    must(load_registry(root));
    must(write_file(root.models() / "events" / "3-other.json", text));
    BOOST_TEST((must_fail(load_registry(root)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(an_event_that_does_not_fit_is_damage_and_an_unknown_change_is_ignored) {
    auto const read = [](Json body) {
        Event const created{"model", noon, "ada@login",
                            Json{{"change", "created"}, {"model", 1}, {"name", "mnist"}}};
        return registry_of(
            std::vector{created, Event{"model", noon, "ada@login", JsonValue(std::move(body))}});
    };
    for (auto const* text :
         {R"({})", R"({"change": 7})", R"({"change": "created", "model": 1, "name": "x"})",
          R"({"change": "created", "model": 3, "name": "x"})", R"({"change": "updated", "model": 2})",
          R"({"change": "updated", "model": 1, "version": 1})",
          R"({"change": "updated", "model": 1, "name": 7})",
          R"({"change": "updated", "model": 1, "metadata": []})",
          R"({"change": "updated", "model": 1, "labels": [7]})",
          R"({"change": "version-registered", "model": 1, "version": 2, "checkpoint": "a"})",
          R"({"change": "version-registered", "model": 1, "version": 1})",
          R"({"change": "deleted", "model": -1})"})
        BOOST_TEST((must_fail(read(parse_json(text))).code == codes::damaged), text);
    auto const registry = must(read(Json{{"change", "from a newer program"}}));
    BOOST_TEST(registry.last_event == 2u);
}

BOOST_AUTO_TEST_CASE(a_registry_that_others_can_write_is_refused) {
    must(create("mnist"));
    std::filesystem::permissions(root.models() / "events", std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    BOOST_TEST((must_fail(load_registry(root)).code == codes::unsafe_owner));
    std::filesystem::permissions(root.models() / "events", std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::remove);
    std::filesystem::permissions(event_path(1), std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    BOOST_TEST((must_fail(load_registry(root)).code == codes::unsafe_owner));
}

BOOST_AUTO_TEST_CASE(a_change_that_could_not_be_read_is_refused) {
    AttributeChanges changes;
    changes.notes = std::string(std::size_t{2} << 20, 'x');
    must(create("mnist"));
    auto const error =
        must_fail(change([&](Registry const& now) { return update_model(now, "mnist", {}, changes); }));
    BOOST_TEST((error.code == codes::document_too_large));
    must(create("cifar"));
}

BOOST_AUTO_TEST_SUITE_END()
