// Slurm's queue, and the pools and nodes of the cluster.
import { useData } from '../api';
import { integer } from '../format';
import { link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import type { Answer, ClusterNode, Job, Pool } from '../types';
import { Check, Choice, CommandLine, Empty, Field, Loaded, Text, Time, Warnings } from '../ui';

const everyMs = 10_000;  // Slurm does not announce changes

const jobColumns: Column<Job & { place: number }>[] = [
  { key: 'place', title: '#', isNumber: true, value: (j) => j.place },
  { key: 'id', title: 'Job', value: (j) => j.id, cell: (j) => (j.experiment ? <a href={link(['experiments', j.experiment])}>{j.id}</a> : j.id) },
  { key: 'name', title: 'Name', value: (j) => j.name, cell: (j) => <Text>{j.name}</Text> },
  { key: 'experiment', title: 'Experiment', isNumber: true, value: (j) => j.experiment ?? null, cell: (j) => (j.experiment ? <a href={link(['experiments', j.experiment])}>{j.experiment}</a> : '') },
  { key: 'user', title: 'User', value: (j) => j.user, cell: (j) => <Text>{j.user}</Text> },
  { key: 'pool', title: 'Pool', value: (j) => j.resource_pool, cell: (j) => <Text>{j.resource_pool}</Text> },
  { key: 'state', title: 'State', value: (j) => j.slurm_state, cell: (j) => <span class={'state ' + (j.slots_acquired > 0 ? 'running' : 'waiting')}>{j.slurm_state.toLowerCase()}</span> },
  { key: 'slots', title: 'Slots', isNumber: true, value: (j) => j.slots_needed, cell: (j) => `${j.slots_acquired} of ${j.slots_needed}` },
  { key: 'priority', title: 'Priority', isNumber: true, value: (j) => j.priority, cell: (j) => integer(j.priority) },
  { key: 'submitted', title: 'Submitted', value: (j) => j.submitted, cell: (j) => <Time utc={j.submitted} /> },
  { key: 'started', title: 'Started', value: (j) => j.started, cell: (j) => <Time utc={j.started} /> },
  { key: 'expected', title: 'Expected start', value: (j) => j.start_estimate, cell: (j) => (j.start_unknown_because ? <span title={j.start_unknown_because}>unknown: {j.start_unknown_because}</span> : <Time utc={j.start_estimate} />) },
  { key: 'reason', title: 'Waits because', isWhole: true, value: (j) => j.reason_in_words, cell: (j) => <span title={j.reason}><Text>{j.reason_in_words}</Text></span> },
];

export function Queue({ query }: { query: Query }) {
  const data = useData<Answer<Job[]>>('jobs', {}, 'jobs', everyMs);
  return (
    <>
      <h1>Queue</h1>
      <Loaded data={data} what="Slurm's queue">{({ answer, warnings }) => <Jobs jobs={answer} warnings={warnings} query={query} />}</Loaded>
    </>
  );
}

function Jobs({ jobs, warnings, query }: { jobs: Job[]; warnings: string; query: Query }) {
  const words = (query['q'] ?? '').toLowerCase();
  const placed = jobs.map((job, i) => ({ ...job, place: i + 1 }));
  const shown = placed.filter((job) => (!query['pool'] || job.resource_pool === query['pool']) && (query['own'] !== '1' || job.experiment) && (!words || `${job.id} ${job.name} ${job.user}`.toLowerCase().includes(words)));
  const pools = [...new Set(jobs.map((job) => job.resource_pool))].sort();
  return (
    <>
      <Warnings text={warnings} />
      <div class="tools">
        <Field label="Search" id="search" value={query['q'] ?? ''} placeholder="job, name, user" onChange={(q) => setQuery({ q })} />
        <Choice label="Pool" value={query['pool'] ?? ''} onChange={(pool) => setQuery({ pool })} options={[['', 'all'], ...pools.map((pool): [string, string] => [pool, pool])]} />
        <Check label="only my experiments" isOn={query['own'] === '1'} onChange={(on) => setQuery({ own: on ? '1' : null })} />
        <span class="count" role="status">{shown.length} of {jobs.length} jobs, {jobs.filter((job) => job.experiment).length} of your experiments</span>
      </div>
      {shown.length === 0
        ? <Empty>{jobs.length === 0 ? 'No job runs or waits.' : 'No job matches.'}</Empty>
        : <Table caption="Jobs in scheduling order" rows={shown} columns={jobColumns} rowKey={(j) => j.id} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName="queue" rowClass={(j) => (j.experiment ? 'own' : '')} />}
      <p class="dim">Jobs of your experiments are marked. To move one: <CommandLine text="det-submit job update JOB --ahead-of OTHER" /></p>
    </>
  );
}

/** A bar and a text that show how many of `all` are in use and out of service. */
function Use({ used, out = 0, all }: { used: number; out?: number; all: number }) {
  if (all <= 0) return null;
  const part = (count: number) => 100 * count / all;
  return (
    <span class="progress use">
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="all" width="100" height="8" /><rect class="done" width={part(used)} height="8" /><rect class="out" x={100 - part(out)} width={part(out)} height="8" /></svg>
      {out > 0 ? `${used} used, ${out} out, of ${all}` : `${used} of ${all}`}
    </span>
  );
}

const poolColumns: Column<Pool>[] = [
  { key: 'name', title: 'Pool', value: (p) => p.name, cell: (p) => <span title={p.description}><Text>{p.name}</Text></span> },
  { key: 'default', title: 'Default', value: (p) => [p.default_compute ? 'compute' : '', p.default_aux ? 'aux' : ''].filter(Boolean).join(', ') },
  { key: 'partition', title: 'Partition', value: (p) => p.partition + (p.is_up ? '' : ' (down)'), cell: (p) => <><Text>{p.partition}</Text>{!p.is_up && <span class="state bad"> down</span>}</> },
  { key: 'type', title: 'Slot type', value: (p) => p.slot_type },
  { key: 'per_node', title: 'Slots/node', isNumber: true, value: (p) => p.slots_per_node },
  { key: 'slots', title: 'Slots', value: (p) => (p.slots > 0 ? p.slots_used / p.slots : null), cell: (p) => <Use used={p.slots_used} out={p.slots_out} all={p.slots} /> },
  { key: 'nodes', title: 'Nodes', value: (p) => p.nodes_free, cell: (p) => `${p.nodes_free} free${p.nodes_out > 0 ? `, ${p.nodes_out} out` : ''}, of ${p.nodes}` },
  { key: 'running', title: 'Running', isNumber: true, value: (p) => p.jobs_running },
  { key: 'waiting', title: 'Waiting', isNumber: true, value: (p) => p.jobs_waiting },
  { key: 'preemption', title: 'Preemption', value: (p) => p.preempt_mode, cell: (p) => `${p.preempt_mode.toLowerCase()}${p.preempt_mode === 'OFF' ? '' : `, grace ${p.grace_time_seconds} s`}` },
];

const nodeColumns: Column<ClusterNode>[] = [
  { key: 'name', title: 'Node', value: (n) => n.name },
  { key: 'state', title: 'State', value: (n) => n.state, cell: (n) => <span class={'state ' + (n.is_out ? 'bad' : n.is_free ? 'off' : 'running')}>{n.state}</span> },
  { key: 'partitions', title: 'Partitions', value: (n) => n.partitions.join(' ') },
  { key: 'gpus', title: 'GPUs', value: (n) => n.gpus_used, cell: (n) => <Use used={n.gpus_used} all={n.gpus} /> },
  { key: 'cpus', title: 'CPUs', value: (n) => n.cpus_used, cell: (n) => <Use used={n.cpus_used} all={n.cpus} /> },
  {
    key: 'jobs', title: 'Jobs', value: (n) => n.jobs.map((job) => job.id).join(' '),
    cell: (n) => n.jobs.map((job) => <span class="on-node">{job.experiment ? <a href={link(['experiments', job.experiment])}>{job.id}</a> : job.id} <span class="dim"><Text>{job.user}</Text></span></span>),
  },
  { key: 'reason', title: 'Reason', isWhole: true, value: (n) => n.reason, cell: (n) => <Text>{n.reason}</Text> },
];

export function Pools({ query }: { query: Query }) {
  const pools = useData<Answer<Pool[]>>('pools', {}, 'pools', everyMs);
  const nodes = useData<{ nodes: ClusterNode[]; warnings: string }>('nodes', {}, 'nodes', everyMs);
  return (
    <>
      <h1>Pools</h1>
      <Loaded data={pools} what="pools">{({ answer, warnings }) => <><Warnings text={warnings} />{answer.length === 0 ? <Empty>Slurm has no partitions here.</Empty> : <Table caption="Resource pools" rows={answer} columns={poolColumns} rowKey={(p) => p.name} csvName="pools" />}</>}</Loaded>
      <h2>Nodes</h2>
      <Loaded data={nodes} what="nodes">{(value) => <><Warnings text={value.warnings} />{value.nodes.length === 0 ? <Empty>Slurm has no nodes here.</Empty> : <Table caption="Nodes" rows={value.nodes} columns={nodeColumns} rowKey={(n) => n.name} sort={query['sort'] ?? 'name'} onSort={(sort) => setQuery({ sort })} csvName="nodes" />}</>}</Loaded>
    </>
  );
}
