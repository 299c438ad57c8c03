// The learning curves of all trials of an experiment.
import { useMemo } from 'preact/hooks';
import { useData, type Data } from '../api';
import { Chart } from '../chart';
import { CurveControls, lookIn, plotWidth, rangeParameters, zoomTo, type CurveLook } from '../curve_controls';
import { lookOf, shadeColor, smooth, type Line } from '../curves';
import { toNumbers } from '../format';
import { link, setQuery, type Query } from '../route';
import { SmallCharts } from '../small_charts';
import type { Answer, ExperimentSeries, MetricName, TrialRow } from '../types';
import { Choice, Empty, Loaded, ShadeLegend } from '../ui';

/** The metrics of an experiment, and what its searcher minimizes or maximizes. */
export interface MetricNames { metrics: MetricName[]; searcher: { metric: string; smaller_is_better: boolean } | null }

export function ExperimentCurves({ id, query, names, trials }: { id: string; query: Query; names: Data<MetricNames>; trials: Data<Answer<TrialRow[]>> }) {
  const wanted = metricIn(query);
  // The curves of a metric that the address names are requested at once, without waiting for the names of all metrics.
  const known = names.value ?? (wanted && !names.error ? { metrics: [wanted], searcher: null } : undefined);
  return (
    <Loaded data={{ ...names, value: known }} what="metrics">{({ metrics, searcher }) => (metrics.length === 0
      ? <Empty>No trial has reported a metric yet. Curves appear here with the first report.</Empty>
      : <Curves id={id} query={query} metrics={metrics} searcher={searcher} rows={trials.value?.answer} />)}</Loaded>
  );
}

function metricIn(query: Query): MetricName | undefined {
  const [, group, metric] = /^([^.]+)\.(.+)$/s.exec(query['metric'] ?? '') ?? [];
  return group && metric ? { group, metric } : undefined;
}

const keyOf = ({ group, metric }: MetricName) => group + '.' + metric;

/** The metric `wanted` of the address if it exists, else the searcher's, else the first one. */
export function chooseMetric(metrics: MetricName[], wanted: string | undefined, searcherMetric: string): MetricName {
  return metrics.find((m) => keyOf(m) === wanted) ?? metrics.find((m) => m.group === 'validation' && m.metric === searcherMetric)
    ?? metrics.find((m) => m.metric === searcherMetric) ?? metrics[0]!;
}

/** The name of the trial with the best validation; null if no trial was validated. */
export function bestOf(rows: readonly TrialRow[], isSmallerBetter: boolean): string | null {
  let best: TrialRow | null = null;
  for (const row of rows) {
    const value = row.best_validation?.value;
    if (value === undefined) continue;
    const least = best?.best_validation?.value;
    if (least === undefined || (isSmallerBetter ? value < least : value > least)) best = row;
  }
  return best?.name ?? null;
}

const namedLinesMax = 14;

/** The rank of each trial by its best validation: from 0 (the worst) to 1. Trials without a finite value have no entry. */
export function ranksOf(rows: readonly TrialRow[], isSmallerBetter: boolean): Map<string, number> {
  const sorted = rows.flatMap((row) => (row.best_validation && Number.isFinite(row.best_validation.value) ? [[row.name, row.best_validation.value] as const] : []));
  sorted.sort(([, a], [, b]) => (isSmallerBetter ? b - a : a - b));
  return new Map(sorted.map(([name], i) => [name, sorted.length > 1 ? i / (sorted.length - 1) : 1]));
}

export function linesOf(series: ExperimentSeries, look: CurveLook, best: string | null, ranks: ReadonlyMap<string, number> = new Map()): Line[] {
  const isMany = series.trials.filter(({ x }) => x.length > 0).length > namedLinesMax;
  const lines: Line[] = [];
  series.trials.forEach((trial, index) => {
    if (trial.x.length === 0) return;
    const x = look.axis === 'time' ? trial.x.map((us) => us / 1e6) : trial.x;
    const raw = toNumbers(trial.values);
    const isBest = trial.trial === best;
    const style = isMany ? { color: isBest ? 'var(--best)' : shadeColor(ranks.get(trial.trial) ?? 0), dash: [] } : lookOf(index);
    const line = { key: trial.trial, label: (isBest ? 'best trial ' : 'trial ') + trial.trial, x, ...style, width: isBest ? 2.5 : isMany ? 1 : 1.5, href: link(['trials', trial.trial]) };
    if (look.smoothing > 0 && !isMany) lines.push({ ...line, key: trial.trial + ' raw', y: raw, isPale: true, width: 1 });
    lines.push({ ...line, y: look.smoothing > 0 ? smooth(raw, look.smoothing) : raw });
  });
  // Later lines are drawn over earlier ones: better trials over worse ones, and the best trial over all.
  const order = (line: Line) => (line.key === best ? 2 : ranks.get(line.key) ?? -1);
  return isMany ? lines.sort((a, b) => order(a) - order(b)) : lines.sort((a, b) => Number(a.key === best) - Number(b.key === best));
}

interface CurvesProps { id: string; query: Query; metrics: MetricName[]; searcher: MetricNames['searcher']; rows: TrialRow[] | undefined }

const allMetrics = '*';

function Curves(props: CurvesProps) {
  const { query, metrics, searcher } = props;
  const isAll = query['metric'] === allMetrics;
  const look = lookIn(query);
  const value = isAll ? allMetrics : keyOf(chooseMetric(metrics, query['metric'], searcher?.metric ?? ''));
  const all: [string, string][] = metrics.length > 1 ? [[allMetrics, 'all, as small charts']] : [];
  return (
    <section aria-label="Learning curves">
      <div class="tools">
        <Choice label="Metric" value={value} onChange={(metric) => setQuery({ metric, zoom: null })} options={[...metrics.map((m): [string, string] => [keyOf(m), `${m.metric} (${m.group})`]), ...all]} />
        <CurveControls look={look} />
      </div>
      {isAll
        ? <SmallCharts items={metrics} nameOf={({ group, metric }) => (metrics.some((other) => other.group !== group && other.metric === metric) || !['training', 'validation'].includes(group) ? group + '/' + metric : metric)} keyOf={keyOf} query={query}
            draw={(metric, height) => <MetricChart {...props} chosen={metric} height={height} width={400} />} />
        : <MetricChart {...props} key={value} chosen={chooseMetric(metrics, query['metric'], searcher?.metric ?? '')} height={420} width={plotWidth()} />}
      <p class="dim">Drag to zoom: the tracker then sends that range in full resolution. Steps that a later run trained again are left out.</p>
    </section>
  );
}

/** The curves of one metric. \param width in pixels, for the request */
function MetricChart({ id, query, chosen, searcher, rows, height, width }: CurvesProps & { chosen: MetricName; height: number; width: number }) {
  const isSmallerBetter = searcher?.smaller_is_better ?? true;
  const look = lookIn(query);
  const series = useData<ExperimentSeries>(`experiments/${encodeURIComponent(id)}/series`, { ...chosen, width, ...rangeParameters(look) }, `${id} ${keyOf(chosen)} ${look.axis}`);
  const ranks = useMemo(() => (rows ? ranksOf(rows, isSmallerBetter) : new Map<string, number>()), [rows, isSmallerBetter]);
  const best = rows ? bestOf(rows, isSmallerBetter) : null;
  const lines = useMemo(() => (series.value ? linesOf(series.value, look, best, ranks) : []), [series.value, look.axis, look.smoothing, best, ranks]);
  return (
    <>
      <Loaded data={series} what="curves">{(value) => (
        <Chart title={`${chosen.metric} (${chosen.group})`} lines={lines} axis={look.axis} isLog={look.isLog} range={look.range} onZoom={zoomTo} height={height}
          points={value.trials.reduce((sum, trial) => sum + trial.points, 0)} />
      )}</Loaded>
      {lines.length > namedLinesMax && height > 200 && <ShadeLegend best={best} words={` by ${searcher?.metric ?? 'metric'}; point at a line for its trial`} />}
    </>
  );
}
