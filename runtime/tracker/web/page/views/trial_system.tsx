// The system metrics of a run's nodes, timings, and which ranks waited for which.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useData } from '../api';
import { Chart } from '../chart';
import { lookOf, type Line } from '../curves';
import { duration, number, percent, toNumbers, withUnit } from '../format';
import { lookIn, plotWidth, zoomTo, type CurveLook } from '../curve_controls';
import { setQuery, type Query } from '../route';
import { SmallCharts } from '../small_charts';
import { CsvButton, Table, type Column } from '../table';
import type { Answer, NodeMetric, ProfiledRun, Series, TrialDescription, Waits } from '../types';
import { Choice, Empty, Loaded, Text } from '../ui';

export function TrialSystem({ trial, query }: { trial: TrialDescription; query: Query }) {
  const profile = useData<Answer<ProfiledRun[]>>(`trials/${trial.name}/profile`);
  return (
    <section aria-label="System">
      <Loaded data={profile} what="system metrics">{({ answer }) => (answer.length === 0 && !trial.waits
        ? <Empty>Nothing was profiled. Set <code>profiling: {'{enabled: true}'}</code> in the configuration, and system metrics of each node appear here.</Empty>
        : answer.length === 0 ? null : <Profile trial={trial} runs={answer} query={query} />)}</Loaded>
      {trial.waits && <WaitTable waits={trial.waits} />}
    </section>
  );
}

const linesMax = 64;  // of a chart

type ProfiledNode = ProfiledRun['nodes'][number];

function Profile({ trial, runs, query }: { trial: TrialDescription; runs: ProfiledRun[]; query: Query }) {
  const run = runs.find((candidate) => String(candidate.run) === query['run']) ?? runs[runs.length - 1]!;
  const chosen = run.nodes.filter((node) => String(node.node) === query['node']);
  const nodes = chosen.length > 0 ? chosen : run.nodes;
  const rows = nodes.flatMap((node) => node.metrics.map((metric) => ({ node, ...metric })));
  return (
    <>
      <div class="tools">
        <Choice label="Run" value={String(run.run)} onChange={(value) => setQuery({ run: value, zoom: null })} options={runs.map((r) => [String(r.run), 'run ' + r.run])} />
        {run.nodes.length > 1 && <Choice label="Node" value={chosen.length > 0 ? query['node']! : ''} onChange={(value) => setQuery({ node: value })} options={[['', `all ${run.nodes.length} nodes`], ...run.nodes.map((n): [string, string] => [String(n.node), n.host || 'node ' + n.node])]} />}
      </div>
      {rows.length > 0 && <>
        <NodeCharts key={run.run + ' ' + nodes.map(({ node }) => node).join()} trial={trial} run={run.run} nodes={nodes} query={query} />
        <h2>Mean and maximum</h2>
        <Table caption="Mean and maximum of the system metrics" rows={rows} columns={metricColumns} rowKey={(m) => `${m.node.node} ${m.group} ${m.name} ${m.device ?? ''}`} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName={`trial-${trial.name}-run-${run.run}-system`} maxHeight="320px" />
      </>}
      {run.timings.length > 0 && <>
        <h2>Timings</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Timings">
          <table class="narrow"><caption class="unseen">Timings</caption>
            <thead><tr><th scope="col">Timing</th><th scope="col" class="number">Count</th><th scope="col" class="number">Total</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Maximum</th></tr></thead>
            <tbody>{run.timings.map((t) => <tr><td><Text>{t.name}</Text></td><td class="number">{number(t.count)}</td><td class="number">{duration(t.total_s)}</td><td class="number">{number(1000 * t.total_s / Math.max(1, t.count), 4)} ms</td><td class="number">{number(1000 * t.max_s, 4)} ms</td></tr>)}</tbody>
          </table>
        </div>
      </>}
    </>
  );
}

type MetricRow = ProfiledNode['metrics'][number] & { node: ProfiledNode };
const hostOf = (node: ProfiledNode) => node.host || 'node ' + node.node;

const metricColumns: Column<MetricRow>[] = [
  { key: 'metric', title: 'Metric', value: (m) => m.name },
  { key: 'node', title: 'Node', value: (m) => hostOf(m.node), cell: (m) => <Text>{hostOf(m.node)}</Text> },
  { key: 'device', title: 'Device', value: (m) => m.device ?? '', cell: (m) => <span class="dim"><Text>{m.device ?? ''}</Text></span> },
  { key: 'mean', title: 'Mean', isNumber: true, isDescendingFirst: true, value: (m) => m.mean, cell: (m) => withUnit(m.mean, m.unit) },
  { key: 'max', title: 'Maximum', isNumber: true, isDescendingFirst: true, value: (m) => m.max, cell: (m) => withUnit(m.max, m.unit) },
];

interface NodeSeries { node: ProfiledNode; metric: NodeMetric }

/** A chart for each metric, with a line for each node and device. */
function NodeCharts({ trial, run, nodes, query }: { trial: TrialDescription; run: number; nodes: ProfiledNode[]; query: Query }) {
  const [found, setFound] = useState<{ [node: number]: NodeMetric[] }>({});
  const charts = useMemo(() => {
    const groups = new Map<string, NodeSeries[]>();
    for (const node of nodes) {
      for (const metric of found[node.node] ?? []) {
        if (metric.group === 'waits') continue;
        const name = metric.metric.split(' ')[0]!;
        groups.set(name, [...(groups.get(name) ?? []), { node, metric }]);
      }
    }
    return [...groups].map(([name, series]) => ({ name, series }));
  }, [found, nodes]);
  const look = { ...lookIn(query), axis: 'time' as const };
  const unitOf = (name: string) => nodes.flatMap((node) => node.metrics).find((m) => m.name === name)?.unit ?? '';
  const isLoading = nodes.some(({ node }) => !found[node]);
  return (
    <>
      {nodes.map((node) => <Names key={node.node} path={`trials/${trial.name}/runs/${run}/nodes/${node.node}/metrics`} onData={(metrics) => setFound((old) => (old[node.node] === metrics ? old : { ...old, [node.node]: metrics }))} />)}
      {charts.length === 0 && isLoading ? <p class="loading" role="status">Loading the metrics …</p>
        : <SmallCharts items={charts} nameOf={({ name }) => name} keyOf={({ name }) => name} query={query}
          draw={({ name, series }, height) => <NodeChart title={name} unit={unitOf(name)} path={`trials/${trial.name}/runs/${run}/nodes`} series={series} isOneNode={nodes.length === 1} look={look} height={Math.max(180, height)} />} />}
    </>
  );
}

function Names({ path, onData }: { path: string; onData: (metrics: NodeMetric[]) => void }) {
  const data = useData<{ metrics: NodeMetric[] }>(path);
  useEffect(() => {
    if (data.value) onData(data.value.metrics);
    else if (data.error && data.error.status !== 0) onData([]);
  }, [data.value, data.error]);
  return null;
}

function NodeChart({ title, unit, path, series, isOneNode, look, height }: { title: string; unit: string; path: string; series: NodeSeries[]; isOneNode: boolean; look: CurveLook; height: number }) {
  const [parts, setParts] = useState<{ [key: string]: Series }>({});
  const shown = series.slice(0, linesMax);
  const keyOf = ({ node, metric }: NodeSeries) => node.node + ' ' + metric.metric;
  const lines = useMemo(() => shown.flatMap((each, i): Line[] => {
    const curve = parts[keyOf(each)]?.curves[0];
    if (!curve) return [];
    const device = each.metric.metric.split(' ').slice(1).join(' ');
    const label = [isOneNode ? '' : hostOf(each.node), device].filter(Boolean).join(' ') || title;
    return [{ key: keyOf(each), label, x: curve.times_us.map((us) => us / 1e6), y: toNumbers(curve.values), ...lookOf(i) }];
  }), [parts, series]);
  return (
    <div>
      {shown.map((each) => <NodeFetch key={keyOf(each)} path={`${path}/${each.node.node}/series`} metric={each.metric} look={look} onData={(data) => setParts((old) => (old[keyOf(each)] === data ? old : { ...old, [keyOf(each)]: data }))} />)}
      <Chart title={title} unit={unit} isScaled={!/^(%|)$/.test(unit)} lines={lines} axis="time" range={look.range} onZoom={zoomTo} height={height} isLoading={Object.keys(parts).length < shown.length} />
      {series.length > linesMax && <p class="dim">The first {linesMax} of {series.length} devices; choose a node for others.</p>}
    </div>
  );
}

function NodeFetch({ path, metric: { group, metric }, look, onData }: { path: string; metric: NodeMetric; look: CurveLook; onData: (series: Series) => void }) {
  const range = look.range ? { from: look.range.min * 1e6, to: look.range.max * 1e6 } : {};
  const data = useData<Series>(path, { group, metric, width: plotWidth(), ...range }, `${path} ${metric}`);
  useEffect(() => {
    if (data.value) onData(data.value);
    else if (data.error && data.error.status !== 0) onData({ group, metric, curves: [] });
  }, [data.value, data.error]);
  return null;
}

/** The seconds that ranks waited for each other: a row for each rank, a column for each rank that others waited for. */
function WaitTable({ waits }: { waits: Waits }) {
  const awaited = [...new Set(waits.ranks.flatMap((rank) => rank.waited_for.map((other) => other.rank)))].sort((a, b) => a - b).slice(0, 32);
  const most = Math.max(1e-9, ...waits.ranks.flatMap((rank) => rank.waited_for.map((other) => other.seconds)));
  return (
    <>
      <h2>Who waits for whom <span class="dim">last {waits.period_s} s of run {waits.run}</span></h2>
      <div class="scroll short" tabIndex={0} role="region" aria-label="Waits between ranks">
        <table class="waits"><caption class="unseen">Seconds that each rank waited for each other</caption>
          <thead><tr><th scope="col" class="number">Rank</th><th scope="col">Node</th><th scope="col" class="number">Operations</th><th scope="col" class="number">Waited</th><th scope="col" class="number">Share</th>{awaited.map((rank) => <th scope="col" class="number">for {rank}</th>)}</tr></thead>
          <tbody>{waits.ranks.map((rank) => (
            <tr class={waits.straggler?.rank === rank.rank ? 'best' : undefined}>
              <td class="number">{rank.rank}</td><td><Text>{rank.host ?? ''}</Text></td><td class="number">{number(rank.operations)}</td>
              <td class="number">{rank.seconds.toFixed(2)} s</td><td class="number">{percent(rank.seconds / Math.max(1, waits.period_s))}</td>
              {awaited.map((other) => {
                const seconds = rank.waited_for.find((entry) => entry.rank === other)?.seconds ?? 0;
                return <td class="number heat" style={{ '--heat': `${Math.round(100 * seconds / most)}%` }}>{seconds > 0 ? seconds.toFixed(2) : ''}</td>;
              })}
            </tr>
          ))}</tbody>
        </table>
      </div>
      <CsvButton name={`waits-of-run-${waits.run}`} rows={() => [['rank', 'node', 'operations', 'waited s', ...awaited.map((rank) => `for ${rank} s`)],
        ...waits.ranks.map((rank) => [rank.rank, rank.host, rank.operations, rank.seconds, ...awaited.map((other) => rank.waited_for.find((entry) => entry.rank === other)?.seconds ?? 0)])]} />
    </>
  );
}
