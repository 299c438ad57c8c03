// The table of the trials of an experiment.
import { useMemo } from 'preact/hooks';
import { useData } from '../api';
import { number, secondsBetween, valueText } from '../format';
import { differingPaths, flatValues } from '../hyperparameters';
import { goTo, link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import { useKey } from '../keys';
import type { Answer, Experiment, TrialRow } from '../types';
import { Elapsed, Empty, isOver, Loaded, Progress, State, Text, Time } from '../ui';
import { searcherOf } from './experiment';
import { bestOf } from './experiment_curves';

/** The start of the trial's first run and the end of its last one; null while they have not started or ended. */
export function timesOf(trial: TrialRow): { started: string | null; ended: string | null } {
  return { started: trial.runs[0]?.started ?? null, ended: trial.runs[trial.runs.length - 1]?.ended ?? null };
}

function columnsFor(rows: readonly TrialRow[], metric: string, isSmallerBetter: boolean): Column<TrialRow>[] {
  const values = new Map(rows.map((row) => [row.name, flatValues(row.hyperparameters)]));
  const texts = [...values.values()].map((map) => new Map([...map].map(([path, value]) => [path, valueText(value)])));
  const paths = rows.length > 1 ? differingPaths(texts) : [...(texts[0]?.keys() ?? [])];
  const hasRungs = rows.some((row) => row.rung !== null);
  return [
    { key: 'id', title: 'Trial', isNumber: true, value: (row) => row.id, cell: (row) => <a href={link(['trials', row.name])}>{row.name}</a> },
    { key: 'state', title: 'State', value: (row) => (row.decision === 'stop' ? 'stopped' : row.state), cell: (row) => <State state={row.state} decision={row.decision} /> },
    ...(rows.some((row) => row.progress !== null && row.progress !== undefined) ? [{ key: 'progress', title: 'Progress', value: (row: TrialRow) => row.progress, cell: (row: TrialRow) => <Progress share={row.progress} /> }] : []),
    { key: 'best', title: 'Best ' + metric, isNumber: true, isDescendingFirst: !isSmallerBetter, value: (row) => row.best_validation?.value ?? null, cell: (row) => number(row.best_validation?.value ?? null) },
    { key: 'steps', title: 'At step', isNumber: true, value: (row) => row.best_validation?.steps_completed ?? null, cell: (row) => number(row.best_validation?.steps_completed ?? null) },
    ...paths.map((path): Column<TrialRow> => ({
      key: 'hp.' + path, title: path, isNumber: rows.some((row) => typeof values.get(row.name)?.get(path) === 'number'),
      value: (row) => {
        const value = values.get(row.name)?.get(path);
        return typeof value === 'number' ? value : value === undefined ? null : valueText(value);
      },
      cell: (row) => <Text>{valueText(values.get(row.name)?.get(path))}</Text>,
    })),
    ...(hasRungs ? [
      { key: 'bracket', title: 'Bracket', isNumber: true, value: (row: TrialRow) => row.bracket },
      { key: 'rung', title: 'Rung', isNumber: true, value: (row: TrialRow) => row.rung },
    ] : []),
    { key: 'runs', title: 'Runs', isNumber: true, value: (row) => row.runs.length },
    { key: 'started', title: 'Started', value: (row) => timesOf(row).started, cell: (row) => <Time utc={timesOf(row).started} /> },
    {
      key: 'duration', title: 'Duration', isNumber: true, value: (row) => (timesOf(row).started ? secondsBetween(timesOf(row).started, timesOf(row).ended) : null),
      cell: (row) => <Elapsed from={timesOf(row).started} to={timesOf(row).ended} isRunning={!isOver(row.state) && !timesOf(row).ended} />,
    },
    { key: 'end', title: 'How it ended', value: (row) => row.runs[row.runs.length - 1]?.message ?? '', cell: (row) => <span class="dim"><Text>{row.runs[row.runs.length - 1]?.message ?? ''}</Text></span> },
  ];
}

export function ExperimentTrials({ experiment, query }: { experiment: Experiment; query: Query }) {
  const data = useData<Answer<TrialRow[]>>(`experiments/${experiment.id}/trials`);
  return <Loaded data={data} what="trials">{({ answer }) => <Trials experiment={experiment} rows={answer} query={query} />}</Loaded>;
}

function Trials({ experiment, rows, query }: { experiment: Experiment; rows: TrialRow[]; query: Query }) {
  const { metric, isSmallerBetter } = searcherOf(experiment.config);
  const columns = useMemo(() => columnsFor(rows, metric, isSmallerBetter), [rows, metric, isSmallerBetter]);
  const best = bestOf(rows, isSmallerBetter);
  const selected = new Set((query['selected'] ?? '').split(',').filter(Boolean));
  const select = (key: string) => {
    if (!selected.delete(key)) selected.add(key);
    setQuery({ selected: [...selected].join(',') });
  };
  const compare = link(['compare'], { ids: [...selected].join(',') });
  useKey('c', () => { if (selected.size > 0) goTo(compare); });
  if (rows.length === 0) return <Empty>This experiment has no trials yet.</Empty>;
  return (
    <section aria-label="Trials">
      {selected.size > 0 && <div class="tools"><a class="button" href={compare}>Compare {selected.size}</a></div>}
      <Table caption="Trials" rows={rows} columns={columns} rowKey={(row) => row.name} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} selected={selected} onSelect={select}
        csvName={`experiment-${experiment.id}-trials`} rowClass={(row) => (row.name === best ? 'best' : '')} />
    </section>
  );
}
