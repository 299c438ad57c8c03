// The curves of one trial: a chart for each metric, with training and validation in one chart.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useData } from '../api';
import { Chart } from '../chart';
import { CurveControls, lookIn, plotWidth, rangeParameters, zoomTo, type CurveLook } from '../curve_controls';
import { lookOf, smooth, type Line } from '../curves';
import { toNumbers } from '../format';
import { setQuery, type Query } from '../route';
import { SmallCharts } from '../small_charts';
import type { MetricName, Series, TrialDescription } from '../types';
import { Check, Empty, Loaded } from '../ui';

/** The metrics of one chart: those of training and validation whose names differ only in a prefix like val_, or one other metric. */
interface Panel { title: string; names: MetricName[] }

const groupOrder = ['training', 'validation'];

export function panelsOf(metrics: readonly MetricName[]): Panel[] {
  const panels = new Map<string, MetricName[]>();
  for (const name of metrics) {
    // Metrics of other groups, for example timings, never share a chart with training and validation.
    const title = groupOrder.includes(name.group) ? name.metric.replace(/^(val|validation|train|training)_/, '') : `${name.metric} (${name.group})`;
    panels.set(title, [...(panels.get(title) ?? []), name]);
  }
  const order = (name: MetricName) => (groupOrder.indexOf(name.group) + 1 || 9);
  return [...panels].map(([title, names]) => ({ title, names: names.sort((a, b) => order(a) - order(b)) }))
    .sort((a, b) => Number(order(a.names[0]!) === 9) - Number(order(b.names[0]!) === 9) || b.names.length - a.names.length);
}

/** Metrics of other groups than training and validation have the group as the prefix. */
function nameOfPanel({ title, names: [first] }: Panel): string {
  return !first || groupOrder.includes(first.group) ? title : first.group + '/' + first.metric;
}

export function TrialCurves({ trial, query }: { trial: TrialDescription; query: Query }) {
  const names = useData<{ metrics: MetricName[] }>(`experiments/${trial.experiment_id}/metrics`, { trial: trial.name });
  const look = lookIn(query);
  return (
    <section aria-label="Curves">
      <div class="tools">
        <CurveControls look={look} />
        <Check label="superseded steps too" isOn={query['all_runs'] === '1'} onChange={(on) => setQuery({ all_runs: on ? '1' : null })} />
      </div>
      <Loaded data={names} what="metrics">{({ metrics }) => (metrics.length === 0
        ? <Empty>This trial has not reported a metric yet.</Empty>
        : <SmallCharts items={panelsOf(metrics)} nameOf={nameOfPanel} keyOf={(panel) => panel.title} query={query}
            draw={(panel, height) => <PanelChart trial={trial.name} panel={panel} look={look} isAllRuns={query['all_runs'] === '1'} height={height} />} />)}</Loaded>
    </section>
  );
}

export function linesOfSeries(series: Series, name: string, look: CurveLook, first: number): Line[] {
  return series.curves.flatMap((curve, i): Line[] => {
    const label = name + (curve.run === null ? '' : ', run ' + curve.run);
    const x = look.axis === 'time' ? curve.times_us.map((us) => us / 1e6) : curve.steps;
    const raw = toNumbers(curve.values);
    const line: Line = { key: label, label, x, y: raw, ...lookOf(first + i) };
    if (look.smoothing === 0) return [line];
    return [{ ...line, key: label + ' raw', isPale: true, width: 1 }, { ...line, y: smooth(raw, look.smoothing) }];
  });
}

/** The chart of a panel. A component Fetch for each metric sends the request, because the number of metrics may change. */
function PanelChart({ trial, panel, look, isAllRuns, height }: { trial: string; panel: Panel; look: CurveLook; isAllRuns: boolean; height: number }) {
  const [parts, setParts] = useState<{ [key: string]: Series }>({});
  const zoom = look.range ? `${look.range.min},${look.range.max}` : '';
  const lines = useMemo(() => panel.names.flatMap((name, i) => {
    const series = parts[name.group + '.' + name.metric];
    return series ? linesOfSeries(series, panel.names.length > 1 ? name.group : name.metric, look, i * 3) : [];
  }), [parts, look.axis, look.smoothing, panel]);
  const points = Object.values(parts).reduce((sum, series) => sum + series.curves.reduce((n, curve) => n + curve.points, 0), 0);
  return (
    <div>
      {panel.names.map((name) => <Fetch key={name.group + '.' + name.metric + look.axis} trial={trial} name={name} look={look} isAllRuns={isAllRuns} zoom={zoom}
        onData={(series) => setParts((old) => (old[name.group + '.' + name.metric] === series ? old : { ...old, [name.group + '.' + name.metric]: series }))} />)}
      <Chart title={panel.title} lines={lines} axis={look.axis} isLog={look.isLog} range={look.range} onZoom={zoomTo} points={points} height={height} isLoading={Object.keys(parts).length < panel.names.length}
        {...(panel.names[0]!.group === 'timing' ? { unit: 's' } : {})} />
    </div>
  );
}

function Fetch({ trial, name, look, isAllRuns, onData }: { trial: string; name: MetricName; look: CurveLook; isAllRuns: boolean; zoom: string; onData: (series: Series) => void }) {
  const data = useData<Series>(`trials/${trial}/series`, { ...name, width: plotWidth(), ...rangeParameters(look), ...(isAllRuns ? { all_runs: true } : {}) }, `${trial} ${name.group} ${name.metric} ${look.axis}`);
  useEffect(() => {
    if (data.value) onData(data.value);
    // The tracker refuses for instance a name with control characters: the chart then shows no curve of it.
    else if (data.error && data.error.status !== 0) onData({ ...name, curves: [] });
  }, [data.value, data.error]);
  return null;
}

