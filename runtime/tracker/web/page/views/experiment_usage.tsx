// The usage of an experiment's slots: how long its jobs used them for training, saving, waiting and so on.
import { useData } from '../api';
import { bytes, duration, percent } from '../format';
import { link } from '../route';
import { CsvButton, Table, type Column } from '../table';
import type { Answer, Experiment, UsageReport } from '../types';
import { Empty, Fact, Loaded, Text, Time } from '../ui';

/** The colours of the uses: training, then overhead, then lost time. */
const useColors: { [use: string]: string } = {
  training: 'var(--c1)', saving: 'var(--c4)', waiting: 'var(--c5)', starting: 'var(--starting)', ending: 'var(--queued)', idle: 'var(--many)',
  redone: 'var(--c2)', lost_to_preemption: 'var(--bad)', lost_to_node: 'var(--bad)',
};

export function ExperimentUsage({ experiment }: { experiment: Experiment }) {
  const data = useData<Answer<UsageReport>>(`experiments/${experiment.id}/report`, {}, undefined, 15000);
  return (
    <Loaded data={data} what="the uses of slots">{({ answer }) => (answer.allocations.length === 0
      ? <Empty>None of its jobs has started: there is nothing to account for yet.</Empty>
      : <Books report={answer} />)}</Loaded>
  );
}

type Allocation = UsageReport['allocations'][number];

const jobColumns: Column<Allocation>[] = [
  { key: 'job', title: 'Job', value: (a) => a.job },
  { key: 'restarts', title: 'Restarts', isNumber: true, value: (a) => a.restart_count },
  { key: 'runs', title: 'Runs', value: (a) => a.runs.join(' '), cell: (a) => a.runs.map((run) => <><a href={link(['trials', run.split('.').slice(0, 2).join('.')], { tab: 'runs' })}>{run}</a> </>) },
  { key: 'submitted', title: 'Submitted', value: (a) => a.submitted, cell: (a) => <Time utc={a.submitted} /> },
  { key: 'started', title: 'Started', value: (a) => a.started, cell: (a) => <Time utc={a.started} /> },
  { key: 'ended', title: 'Ended', value: (a) => a.ended, cell: (a) => (a.end_known_from === 'running' ? 'runs' : <Time utc={a.ended} />) },
  { key: 'slots', title: 'Slots', isNumber: true, value: (a) => a.slots },
  { key: 'slot_s', title: 'Slot time', isNumber: true, value: (a) => a.slot_s, cell: (a) => duration(a.slot_s) },
  { key: 'training', title: 'Training', isNumber: true, value: (a) => (a.slot_s > 0 ? (a.uses['training'] ?? 0) / a.slot_s : null), cell: (a) => (a.slot_s > 0 ? percent((a.uses['training'] ?? 0) / a.slot_s, 1) : '') },
];

function Books({ report }: { report: UsageReport }) {
  const uses = Object.entries(report.uses).filter(([, slot_s]) => slot_s > 0);
  const whole = report.allocated_slot_s;
  let at = 0;
  return (
    <section aria-label="Usage">
      <dl class="facts">
        <Fact name="Allocated">{duration(whole)} of slots</Fact>
        <Fact name="In the queue">{report.queued_s === null ? null : duration(report.queued_s)}</Fact>
        <Fact name="Checkpoints">{`${report.checkpoints.count}, ${bytes(report.checkpoints.size_bytes)}; training waited ${duration(report.checkpoints.blocked_s)} for them`}</Fact>
        <Fact name="GPUs in use">{typeof report.utilisation['gpu_util'] === 'number' ? percent(report.utilisation['gpu_util'] / 100, 1) : null}</Fact>
        <Fact name="CPUs in use">{typeof report.utilisation['cpu_util_simple'] === 'number' ? percent(report.utilisation['cpu_util_simple'] / 100, 1) : null}</Fact>
      </dl>
      <svg class="bar-chart" viewBox="0 0 1000 18" preserveAspectRatio="none" role="img" aria-label={uses.map(([use, slot_s]) => `${use.replace(/_/g, ' ')} ${percent(slot_s / whole, 1)}`).join(', ')}>
        {uses.map(([use, slot_s]) => {
          const width = 1000 * slot_s / whole;
          const rect = <rect x={at} width={width} height="18" style={{ fill: useColors[use] ?? 'var(--many)' }}><title>{`${use.replace(/_/g, ' ')}: ${duration(slot_s)}`}</title></rect>;
          at += width;
          return rect;
        })}
      </svg>
      <div class="scroll" tabIndex={0} role="region" aria-label="Uses of slots">
        <table class="uses"><caption class="unseen">Uses of slots</caption>
          <thead><tr><th scope="col">Use</th><th scope="col" class="number">Slot time</th><th scope="col" class="number">Share</th><th scope="col">Cause</th></tr></thead>
          <tbody>
            {uses.map(([use, slot_s]) => {
              const causes = report.causes.filter((cause) => cause.use === use);
              return (
                <tr>
                  <td><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="2" style={{ fill: useColors[use] ?? 'var(--many)' }} /></svg> {use.replace(/_/g, ' ')}</td>
                  <td class="number">{duration(slot_s)}</td><td class="number">{percent(slot_s / whole, 1)}</td>
                  <td class="dim"><Text>{causes.filter((cause) => cause.cause).map((cause) => `${cause.cause} ${duration(cause.slot_s)}`).join(', ')}</Text></td>
                </tr>
              );
            })}
            <tr class="best"><td>allocated</td><td class="number">{duration(whole)}</td><td class="number">100 %</td><td /></tr>
          </tbody>
        </table>
      </div>
      <CsvButton name={`experiment-${report.id}-usage`} rows={() => [['use', 'cause', 'slot seconds'], ...report.causes.map(({ use, cause, slot_s }) => [use, cause, slot_s])]} />
      <h2>Jobs</h2>
      <Table caption="Jobs and their slots" rows={report.allocations} columns={jobColumns} rowKey={(a) => `${a.job} ${a.restart_count}`} csvName={`experiment-${report.id}-jobs`} />
    </section>
  );
}
