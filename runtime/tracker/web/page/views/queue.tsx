// Slurm's queue, and the pools and nodes of the cluster.
import { useContext, useState } from 'preact/hooks';
import { Confirm, Dialog } from '../actions';
import { useData } from '../api';
import { integer } from '../format';
import { link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import { Tracker } from '../tracker';
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

function isWaiting(job: Job): boolean {
  return job.slots_acquired === 0 && job.slurm_state === 'PENDING';
}

const operations: [string, string][] = [['top', 'to the top'], ['own-top', 'ahead of my other jobs'], ['ahead-of', 'ahead of'], ['behind-of', 'behind'], ['priority', 'to a priority'], ['resource-pool', 'to another pool']];

/** Moves a waiting job: what is chosen, what it will do, and the confirmation. */
function MoveDialog({ job, jobs, onClose }: { job: Job; jobs: Job[]; onClose: () => void }) {
  const [operation, setOperation] = useState('top');
  const [value, setValue] = useState('');
  const pools = useData<Answer<Pool[]>>('pools', {}, 'pools');
  const others = jobs.filter((other) => other.id !== job.id && isWaiting(other) && other.resource_pool === job.resource_pool);
  const first = operation === 'top' ? others[0] : others.find((other) => other.user === job.user);
  const isTop = operation === 'top' || operation === 'own-top';
  const target = isTop ? first?.id ?? '' : value;
  const choose = (next: string) => { setOperation(next); setValue(''); };
  const names = (pools.value?.answer ?? []).map((pool) => pool.name).filter((name) => name !== job.resource_pool);
  return (
    <Dialog title={`Move job ${job.id} ${job.name}`} onClose={onClose}>
      <div class="tools">
        <Choice label="Move" value={operation} onChange={choose} options={operations} />
        {(operation === 'ahead-of' || operation === 'behind-of') && <Choice label="Job" value={value} onChange={setValue} options={[['', 'choose'], ...others.map((other): [string, string] => [other.id, `${other.id} ${other.name} (${other.user})`])]} />}
        {operation === 'resource-pool' && <Choice label="Pool" value={value} onChange={setValue} options={[['', 'choose'], ...names.map((name): [string, string] => [name, name])]} />}
        {operation === 'priority' && <label class="choice"><span>1 (most urgent) to 99; unchanged is 42</span><input type="number" min={1} max={99} value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>}
      </div>
      {isTop && !first && <p class="dim">No other {operation === 'top' ? '' : 'own '}job waits in this pool.</p>}
      <Confirm request={target ? { action: isTop ? 'ahead-of' : operation, target: job.id, value: target } : null} verb="Move" onClose={onClose} onDone={onClose} />
    </Dialog>
  );
}

function Jobs({ jobs, warnings, query }: { jobs: Job[]; warnings: string; query: Query }) {
  const { actions, user } = useContext(Tracker);
  const [moved, setMoved] = useState<string | null>(null);
  const movedJob = jobs.find((job) => job.id === moved);
  const words = (query['q'] ?? '').toLowerCase();
  const placed = jobs.map((job, i) => ({ ...job, place: i + 1 }));
  const shown = placed.filter((job) => (!query['pool'] || job.resource_pool === query['pool']) && (query['own'] !== '1' || job.experiment) && (!words || `${job.id} ${job.name} ${job.user}`.toLowerCase().includes(words)));
  const columns = !actions ? jobColumns : [...jobColumns.slice(0, 2), {
    key: 'move', title: 'Action', value: () => null,
    cell: (j: Job) => (isWaiting(j) && j.user === user ? <button type="button" class="small" aria-label={'Move job ' + j.id} onClick={() => setMoved(j.id)}>move …</button> : ''),
  }, ...jobColumns.slice(2)];
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
        : <Table caption="Jobs in scheduling order" rows={shown} columns={columns} rowKey={(j) => j.id} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName="queue" rowClass={(j) => (j.experiment ? 'own' : '')} />}
      <p class="dim">Jobs of your experiments are marked.{!actions && <> To move one: <CommandLine text="det-submit job update JOB --ahead-of OTHER" /></>}</p>
      {movedJob && <MoveDialog job={movedJob} jobs={jobs} onClose={() => setMoved(null)} />}
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
