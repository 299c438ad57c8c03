#include <det/foundation/text.hpp>
#include <det/slurm/recorded_cluster.hpp>

#include <algorithm>
#include <string>

namespace det::slurm {
namespace {

/// What is searched for in a command, and its output. The first row whose words a command has is its own.
struct Section {
    std::string_view words;
    std::string text = {};
    bool is_there = false;
};

struct Sections {
    Section config{"show config"}, partitions{"show partition"}, nodes{"sinfo "},
        associations{" associations "}, qos{" qos "}, user{" user "};

    Section* find(std::string_view command) {
        for (auto* section : {&config, &partitions, &nodes, &associations, &qos, &user}) {
            if (command.find(section->words) != std::string_view::npos) return section;
        }
        return nullptr;
    }
};

constexpr std::string_view prompt = "$ ";

}  // namespace

Result<RecordedCluster> parse_recorded_cluster(std::string_view text) {
    Sections sections;
    Section* current = nullptr;
    for (auto const line : split_lines(text)) {
        if (line.starts_with(prompt)) {
            current = sections.find(std::string(line.substr(prompt.size())) + " ");
            if (current != nullptr) current->is_there = true;
        } else if (current != nullptr) {
            current->text += std::string(line) + "\n";
        }
    }
    if (!sections.partitions.is_there)
        return Error{codes::slurm_output, "the file has no output of 'scontrol show partition --oneliner'",
                     "a line '$ COMMAND' begins the output of each command"};
    RecordedCluster cluster;
    cluster.config = parse_cluster_config(sections.config.text);
    DET_TRY_ASSIGN(cluster.partitions, sections.nodes.is_there
                                           ? parse_partitions(sections.partitions.text, sections.nodes.text)
                                           : parse_partitions_without_nodes(sections.partitions.text));
    if (sections.associations.is_there)
        cluster.accounting =
            parse_accounting(sections.associations.text, sections.qos.text, sections.user.text);
    return cluster;
}

}  // namespace det::slurm
