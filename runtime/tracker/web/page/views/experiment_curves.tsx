// The learning curves of all trials of an experiment.
import { useMemo } from 'preact/hooks';
import { useData } from '../api';
import { Chart } from '../chart';
import { CurveControls, lookIn, plotWidth, rangeParameters, zoomTo, type CurveLook } from '../curve_controls';
import { lookOf, smooth, type Line } from '../curves';
import { toNumber } from '../format';
import { link, setQuery, type Query } from '../route';
import type { Answer, Experiment, ExperimentSeries, MetricName, TrialRow } from '../types';
import { Choice, Empty, Loaded } from '../ui';
import { searcherOf } from './experiment';

export function ExperimentCurves({ experiment, query }: { experiment: Experiment; query: Query }) {
  const names = useData<{ metrics: MetricName[] }>(`experiments/${experiment.id}/metrics`);
  return (
    <Loaded data={names} what="metrics">{({ metrics }) => (metrics.length === 0
      ? <Empty>No trial has reported a metric yet. Curves appear here with the first report.</Empty>
      : <Curves experiment={experiment} query={query} metrics={metrics} />)}</Loaded>
  );
}

const keyOf = ({ group, metric }: MetricName) => group + '.' + metric;

/** The metric of the address, else the searcher's, else the first one. */
export function chooseMetric(metrics: MetricName[], wanted: string | undefined, searcherMetric: string): MetricName {
  return metrics.find((m) => keyOf(m) === wanted) ?? metrics.find((m) => m.group === 'validation' && m.metric === searcherMetric)
    ?? metrics.find((m) => m.metric === searcherMetric) ?? metrics[0]!;
}

/** The best trial by its best validation, of all trials of an experiment. */
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

export function linesOf(series: ExperimentSeries, look: CurveLook, best: string | null): Line[] {
  const isMany = series.trials.filter(({ x }) => x.length > 0).length > namedLinesMax;
  const lines: Line[] = [];
  series.trials.forEach((trial, index) => {
    if (trial.x.length === 0) return;
    const x = look.axis === 'time' ? trial.x.map((us) => us / 1e6) : trial.x;
    const raw = Float64Array.from(trial.values, (value) => toNumber(value) ?? NaN);
    const isBest = trial.trial === best;
    const style = isMany ? { color: isBest ? 'var(--best)' : 'var(--many)', dash: [] } : lookOf(index);
    const line = { key: trial.trial, label: (isBest ? 'best trial ' : 'trial ') + trial.trial, x, ...style, width: isBest ? 2.5 : isMany ? 1 : 1.5, href: link(['trials', trial.trial]) };
    if (look.smoothing > 0 && !isMany) lines.push({ ...line, key: trial.trial + ' raw', y: raw, isPale: true, width: 1 });
    lines.push({ ...line, y: look.smoothing > 0 ? smooth(raw, look.smoothing) : raw });
  });
  // The best one is drawn last, over the others.
  return lines.sort((a, b) => Number(a.key === best) - Number(b.key === best));
}

function Curves({ experiment, query, metrics }: { experiment: Experiment; query: Query; metrics: MetricName[] }) {
  const searcher = searcherOf(experiment.config);
  const look = lookIn(query);
  const chosen = chooseMetric(metrics, query['metric'], searcher.metric);
  const trials = useData<Answer<TrialRow[]>>(`experiments/${experiment.id}/trials`);
  const width = plotWidth(experiment.trials.length);
  const series = useData<ExperimentSeries>(`experiments/${experiment.id}/series`, { ...chosen, width, ...rangeParameters(look) }, `${experiment.id} ${keyOf(chosen)} ${look.axis}`);
  const best = trials.value ? bestOf(trials.value.answer, searcher.isSmallerBetter) : null;
  const lines = useMemo(() => (series.value ? linesOf(series.value, look, best) : []), [series.value, look.axis, look.smoothing, best]);
  return (
    <section aria-label="Learning curves">
      <div class="tools">
        <Choice label="Metric" value={keyOf(chosen)} onChange={(metric) => setQuery({ metric, zoom: null })} options={metrics.map((m) => [keyOf(m), `${m.metric} (${m.group})`])} />
        <CurveControls look={look} />
      </div>
      <Loaded data={series} what="curves">{(value) => (
        <Chart title={`${chosen.metric} (${chosen.group})`} lines={lines} axis={look.axis} isLog={look.isLog} range={look.range} onZoom={zoomTo} height={420}
          points={value.trials.reduce((sum, trial) => sum + trial.points, 0)} />
      )}</Loaded>
      {lines.length > namedLinesMax && <p class="dim"><svg width="18" height="8" aria-hidden="true"><line x1="0" y1="4" x2="18" y2="4" stroke-width="3" stroke="var(--best)" /></svg> best trial{best ? ' ' : ''}{best && <a href={link(['trials', best])}>{best}</a>}; point at a line for its trial.</p>}
      <p class="dim">Drag to zoom: the tracker then sends that range in full resolution. Steps that a later run trained again are left out.</p>
    </section>
  );
}
