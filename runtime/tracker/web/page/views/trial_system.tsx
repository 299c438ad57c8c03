// The system metrics of a run's nodes, timings, and which ranks waited for which.
import { useMemo } from 'preact/hooks';
import { useData } from '../api';
import { Chart } from '../chart';
import { lookOf, type Line } from '../curves';
import { duration, number, percent, scaled, toNumber } from '../format';
import { lookIn, plotWidth, zoomTo, type CurveLook } from '../curve_controls';
import { setQuery, type Query } from '../route';
import { CsvButton } from '../table';
import type { Answer, NodeMetric, ProfiledRun, Series, TrialDescription, Waits } from '../types';
import { Choice, Empty, Loaded, Text } from '../ui';

export function TrialSystem({ trial, query }: { trial: TrialDescription; query: Query }) {
  const profile = useData<Answer<ProfiledRun[]>>(`trials/${trial.name}/profile`);
  return (
    <section aria-label="System">
      {trial.waits && <WaitTable waits={trial.waits} />}
      <Loaded data={profile} what="system metrics">{({ answer }) => (answer.length === 0 && !trial.waits
        ? <Empty>Nothing was profiled. Set <code>profiling: {'{enabled: true}'}</code> in the configuration, and system metrics of each node appear here.</Empty>
        : answer.length === 0 ? null : <Profile trial={trial} runs={answer} query={query} />)}</Loaded>
    </section>
  );
}

const seriesMax = 24;

function Profile({ trial, runs, query }: { trial: TrialDescription; runs: ProfiledRun[]; query: Query }) {
  const run = runs.find((candidate) => String(candidate.run) === query['run']) ?? runs[runs.length - 1]!;
  const node = run.nodes.find((candidate) => String(candidate.node) === query['node']) ?? run.nodes[0];
  return (
    <>
      <div class="tools">
        <Choice label="Run" value={String(run.run)} onChange={(value) => setQuery({ run: value, zoom: null })} options={runs.map((r) => [String(r.run), 'run ' + r.run])} />
        {node && <Choice label="Node" value={String(node.node)} onChange={(value) => setQuery({ node: value })} options={run.nodes.map((n) => [String(n.node), n.host || 'node ' + n.node])} />}
      </div>
      {node && <>
        <div class="scroll" tabIndex={0} role="region" aria-label="Mean and maximum">
          <table class="narrow"><caption class="unseen">System metrics of {node.host}</caption>
            <thead><tr><th scope="col">Metric</th><th scope="col">Device</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Maximum</th><th scope="col">Unit</th></tr></thead>
            <tbody>{node.metrics.map((m) => <tr><td>{m.name}</td><td class="dim"><Text>{m.device ?? ''}</Text></td><td class="number">{scaled(m.mean)}</td><td class="number">{scaled(m.max)}</td><td class="dim">{m.unit}</td></tr>)}</tbody>
          </table>
        </div>
        <CsvButton name={`trial-${trial.name}-run-${run.run}-${node.host || node.node}`} rows={() => [['metric', 'device', 'mean', 'maximum', 'unit'], ...node.metrics.map((m) => [m.name, m.device, m.mean, m.max, m.unit])]} />
        <NodeCharts trial={trial} run={run.run} node={node} look={{ ...lookIn(query), axis: 'time' }} />
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

type ProfiledNode = ProfiledRun['nodes'][number];

/** A chart for each metric of the node, with a line for each of the node's devices. */
function NodeCharts({ trial, run, node, look }: { trial: TrialDescription; run: number; node: ProfiledNode; look: CurveLook }) {
  const names = useData<{ metrics: NodeMetric[] }>(`trials/${trial.name}/runs/${run}/nodes/${node.node}/metrics`);
  const groups = useMemo(() => {
    const found = new Map<string, NodeMetric[]>();
    for (const metric of names.value?.metrics ?? []) {
      if (metric.group === 'waits') continue;
      const name = metric.metric.split(' ')[0]!;
      found.set(name, [...(found.get(name) ?? []), metric]);
    }
    return [...found].slice(0, seriesMax);
  }, [names.value]);
  const unitOf = (name: string) => node.metrics.find((m) => m.name === name)?.unit ?? '';
  return <div class="charts">{groups.map(([name, metrics]) => <NodeChart key={name} title={name} unit={unitOf(name)} path={`trials/${trial.name}/runs/${run}/nodes/${node.node}/series`} metrics={metrics.slice(0, 8)} look={look} />)}</div>;
}

function NodeChart({ title, unit, path, metrics, look }: { title: string; unit: string; path: string; metrics: NodeMetric[]; look: CurveLook }) {
  const range = look.range ? { from: look.range.min * 1e6, to: look.range.max * 1e6 } : {};
  // One hook for each metric. Their number must not change between calls: it is the number of the node's devices.
  const parts = metrics.map(({ group, metric }) => useData<Series>(path, { group, metric, width: plotWidth(), ...range }, `${path} ${metric}`));
  const lines = parts.flatMap(({ value }, i): Line[] => {
    const curve = value?.curves[0];
    if (!curve) return [];
    const device = metrics[i]!.metric.split(' ').slice(1).join(' ');
    return [{ key: metrics[i]!.metric, label: device || title, x: curve.times_us.map((us) => us / 1e6), y: Float64Array.from(curve.values, (v) => toNumber(v) ?? NaN), ...lookOf(i) }];
  });
  const stable = useMemo(() => lines, [parts.map(({ value }) => value).join(), ...parts.map(({ value }) => value)]);
  return <Chart title={title} unit={unit} lines={stable} axis="time" range={look.range} onZoom={zoomTo} height={180} isLoading={parts.some(({ value, error }) => !value && !error)} />;
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
