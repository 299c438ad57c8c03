// The ClusterInfo of the trial's last run, as far as it is recorded, and the hyperparameters.
import { useData } from '../api';
import { valueText } from '../format';
import { flatValues } from '../hyperparameters';
import { link, type Query } from '../route';
import type { Answer, Experiment, TrialDescription } from '../types';
import { Loaded, Text } from '../ui';

export function TrialInfo({ trial }: { trial: TrialDescription; query: Query }) {
  const experiment = useData<Answer<Experiment>>(`experiments/${trial.experiment_id}`);
  const run = trial.runs[trial.runs.length - 1];
  return (
    <section aria-label="ClusterInfo">
      <Loaded data={experiment} what="the experiment">{({ answer }) => {
        const nodes = run?.nodes ?? answer.nodes;
        const rows: [string, string][] = [
          ['task_id', trial.name], ['allocation_id', run ? `${trial.name}.${run.run}` : ''], ['trial.trial_id', String(trial.id)], ['trial.experiment_id', String(trial.experiment_id)],
          ['trial.trial_run_id', run ? String(run.run) : ''], ['hosts', run?.hosts ?? ''], ['nodes', String(nodes ?? '')], ['slots per node', String(answer.slots_per_node ?? '')],
          ['world size', run?.slots ? String(run.slots) : nodes && answer.slots_per_node ? String(nodes * answer.slots_per_node) : ''], ['job', run?.job ?? ''], ['restart count', String(run?.restart_count ?? '')],
          ['latest_checkpoint', run?.latest_checkpoint ?? ''], ['steps completed at start', String(run?.steps_completed ?? '')],
          ...[...flatValues(trial.hyperparameters)].map(([path, value]): [string, string] => ['trial.hparams.' + path, valueText(value)]),
        ];
        return (
          <>
            <p class="dim">Of the last run. Addresses of nodes and devices are not recorded: the ranks resolve them when they start.</p>
            <div class="scroll" tabIndex={0} role="region" aria-label="Table of ClusterInfo">
              <table class="narrow"><caption class="unseen">ClusterInfo of the last run</caption>
                <thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead>
                <tbody>{rows.filter(([, value]) => value !== '').map(([name, value]) => <tr><td><code><Text>{name}</Text></code></td><td><code><Text>{value}</Text></code></td></tr>)}</tbody>
              </table>
            </div>
            <p><a href={link(['experiments', trial.experiment_id], { tab: 'config' })}>The configuration</a></p>
          </>
        );
      }}</Loaded>
    </section>
  );
}
