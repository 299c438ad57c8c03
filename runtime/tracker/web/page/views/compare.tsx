// Compares experiments and trials: their curves in one chart, their differences, how they ended, what they cost.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, get } from '../api';
import { Chart } from '../chart';
import { CurveControls, lookIn, plotWidth, rangeParameters, zoomTo } from '../curve_controls';
import { lookOf, smooth, type Line } from '../curves';
import { duration, flatten, number, secondsBetween, toNumbers, valueText } from '../format';
import { link, setQuery, type Query } from '../route';
import type { Answer, Experiment, MetricName, Series, TrialRow } from '../types';
import { Check, Choice, CommandLine, Empty, Failure, isOver, State, Text } from '../ui';
import { searcherOf } from './experiment';
import { bestOf, chooseMetric } from './experiment_curves';

/** The data of a column of the comparison: an experiment with its best trial, or a trial with its experiment. */
interface Compared { id: string; experiment: Experiment; trial: TrialRow | null; metrics: MetricName[] }

const comparedMax = 20;

async function load(id: string): Promise<Compared> {
  const number = id.split('.')[0]!;
  const [experiment, trials] = await Promise.all([
    get<Answer<Experiment>>('experiments/' + encodeURIComponent(number)), get<Answer<TrialRow[]>>(`experiments/${encodeURIComponent(number)}/trials`),
  ]);
  const name = id.includes('.') ? id : bestOf(trials.answer, searcherOf(experiment.answer.config).isSmallerBetter) ?? trials.answer[0]?.name ?? null;
  const trial = trials.answer.find((row) => row.name === name) ?? null;
  if (id.includes('.') && !trial) throw new ApiError(404, 'no-such-trial', `there is no trial ${id}`, '');
  const { metrics } = await get<{ metrics: MetricName[] }>(`experiments/${number}/metrics`, trial ? { trial: trial.name } : {});
  return { id, experiment: experiment.answer, trial, metrics };
}

export function Compare({ query }: { query: Query }) {
  const ids = [...new Set((query['ids'] ?? '').split(',').filter(Boolean))].slice(0, comparedMax);
  const [found, setFound] = useState<Compared[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setError(null);
    Promise.all(ids.map(load)).then((all) => { if (isCurrent) setFound(all); })
      .catch((problem: unknown) => { if (isCurrent && problem instanceof ApiError) setError(problem); });
    return () => { isCurrent = false; };
  }, [ids.join()]);
  return (
    <>
      <h1>Compare</h1>
      {ids.length === 0
        ? <Empty>Select experiments in <a href={link(['experiments'])}>the list</a> (key x) or trials of an experiment, then compare (key c).</Empty>
        : error ? <Failure error={error} />
          : !found ? <p class="loading" role="status">Loading what to compare …</p> : <Comparison all={found.filter(({ id }) => ids.includes(id))} query={query} />}
    </>
  );
}

const keyOf = ({ group, metric }: MetricName) => group + '.' + metric;

function Comparison({ all, query }: { all: Compared[]; query: Query }) {
  const metrics = [...new Map(all.flatMap((one) => one.metrics).map((name) => [keyOf(name), name])).values()];
  const first = all[0];
  return (
    <>
      {first && metrics.length > 0 && <Overlay all={all} metrics={metrics} query={query} chosen={chooseMetric(metrics, query['metric'], searcherOf(first.experiment.config).metric)} />}
      <Facts all={all} />
      <Differences all={all} query={query} />
      <p><CommandLine text={`det-submit experiment compare ${[...new Set(all.map(({ experiment }) => experiment.id))].join(' ')}`} /></p>
    </>
  );
}

function Overlay({ all, metrics, chosen, query }: { all: Compared[]; metrics: MetricName[]; chosen: MetricName; query: Query }) {
  const look = lookIn(query);
  const [series, setSeries] = useState<Map<string, Series>>(new Map());
  const names = all.map(({ trial }) => trial?.name ?? '');
  useEffect(() => {
    let isCurrent = true;
    void Promise.all(names.filter(Boolean).map(async (name) => [name, await get<Series>(`trials/${name}/series`, { ...chosen, width: plotWidth(), ...rangeParameters(look) })] as const))
      .then((loaded) => { if (isCurrent) setSeries(new Map(loaded)); }).catch(() => {});
    return () => { isCurrent = false; };
  }, [names.join(), keyOf(chosen), look.axis, look.range?.min, look.range?.max]);
  const lines = useMemo(() => all.flatMap(({ id, experiment, trial }, i): Line[] => {
    const curve = trial && series.get(trial.name)?.curves[0];
    if (!trial || !curve) return [];
    // The times of each curve begin at 0, so that curves of different days can be compared.
    const times = curve.times_us.map((us) => (us - (curve.times_us[0] ?? 0)) / 1e6);
    const raw = toNumbers(curve.values);
    return [{ key: id, label: id === trial.name ? 'trial ' + id : `${id} ${experiment.name ?? ''}`, x: look.axis === 'time' ? times : curve.steps, y: look.smoothing > 0 ? smooth(raw, look.smoothing) : raw, ...lookOf(i), href: link(['trials', trial.name]) }];
  }), [all, series, look.axis, look.smoothing]);
  return (
    <section aria-label="Curves">
      <div class="tools">
        <Choice label="Metric" value={keyOf(chosen)} onChange={(metric) => setQuery({ metric, zoom: null })} options={metrics.map((m) => [keyOf(m), `${m.metric} (${m.group})`])} />
        <CurveControls look={look} />
      </div>
      <Chart title={`${chosen.metric} (${chosen.group})${look.axis === 'time' ? ', by seconds since the first report' : ''}`} lines={lines} axis={look.axis === 'time' ? 'seconds' : 'steps'} isLog={look.isLog} range={look.range} onZoom={zoomTo} height={340} />
    </section>
  );
}

/** The trial, if the column is that of a trial; null for an experiment, whose trial is its best one. */
function trialOf({ id, trial }: Compared): TrialRow | null {
  return id.includes('.') ? trial : null;
}

/** How long a trial or an experiment took, from the start of its first run; until now if it is not over. */
function durationOf(one: Compared): string {
  const trial = trialOf(one);
  const started = trial ? trial.runs[0]?.started : one.experiment.started;
  const ended = trial ? trial.runs[trial.runs.length - 1]?.ended : one.experiment.ended;
  return started && (ended || !isOver((trial ?? one.experiment).state)) ? duration(secondsBetween(started, ended)) : '';
}

function Facts({ all }: { all: Compared[] }) {
  const slotTime = (one: Compared) => {
    const { experiment: e } = one;
    const slots = (e.nodes ?? 0) * (e.slots_per_node ?? 0);
    const runs = trialOf(one)?.runs ?? e.trials.flatMap((t) => t.runs);
    const seconds = runs.reduce((sum, run) => sum + (run.started ? secondsBetween(run.started, run.ended) ?? 0 : 0), 0);
    return slots > 0 ? seconds * slots : null;
  };
  const rows: [string, (one: Compared) => preact.ComponentChildren][] = [
    ['Name', ({ experiment }) => <Text>{experiment.name ?? ''}</Text>],
    ['State', (one) => <State state={(trialOf(one) ?? one.experiment).state} />],
    ['Best trial', ({ trial }) => trial && <a href={link(['trials', trial.name])}>{trial.name}</a>],
    ['Best value', ({ experiment, trial }) => trial?.best_validation && <>{number(trial.best_validation.value)} <span class="dim"><Text>{searcherOf(experiment.config).metric}</Text></span></>],
    ['At step', ({ trial }) => number(trial?.best_validation?.steps_completed ?? null)],
    ['Trials', (one) => (trialOf(one) ? '' : String(one.experiment.trials.length))],
    ['Duration', durationOf],
    ['Slots', ({ experiment: e }) => (e.nodes && e.slots_per_node ? `${e.nodes} × ${e.slots_per_node}` : '')],
    ['Slot time', (one) => duration(slotTime(one))],
  ];
  return (
    <>
      <h2>Results and cost</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Results and cost">
        <table class="narrow"><caption class="unseen">Results and cost</caption>
          <thead><tr><th scope="col"><span class="unseen">Fact</span></th>{all.map(({ id }) => <th scope="col"><a href={link([id.includes('.') ? 'trials' : 'experiments', id])}>{id}</a></th>)}</tr></thead>
          <tbody>{rows.map(([name, cell]) => <tr><th scope="row">{name}</th>{all.map((one) => <td>{cell(one)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

function Differences({ all, query }: { all: Compared[]; query: Query }) {
  const isWhole = query['whole'] === '1';
  const values = all.map(({ experiment, trial }) => new Map([
    ...flatten(experiment.config).map(([path, value]): [string, string] => [path, valueText(value)]).filter(([path]) => !path.startsWith('hyperparameters.')),
    ...flatten(trial?.hyperparameters).map(([path, value]): [string, string] => ['hyperparameters.' + path, valueText(value)]),
  ]));
  const paths = [...new Set(values.flatMap((map) => [...map.keys()]))].sort();
  const shown = isWhole ? paths : paths.filter((path) => new Set(values.map((map) => map.get(path))).size > 1);
  return (
    <>
      <h2>Configuration</h2>
      <div class="tools"><Check label="equal values too" isOn={isWhole} onChange={(on) => setQuery({ whole: on ? '1' : null })} /></div>
      {shown.length === 0 ? <Empty>The configurations are equal.</Empty> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Differences of the configuration">
          <table class="narrow"><caption class="unseen">Configuration by key</caption>
            <thead><tr><th scope="col">Key</th>{all.map(({ id }) => <th scope="col">{id}</th>)}</tr></thead>
            <tbody>{shown.map((path) => <tr><th scope="row"><code><Text>{path}</Text></code></th>{values.map((map) => <td><code><Text>{map.get(path) ?? '–'}</Text></code></td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
