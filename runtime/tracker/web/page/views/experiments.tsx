// The list of all experiments.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useData } from '../api';
import { number, plural, secondsBetween, visible } from '../format';
import { describeHyperparameters, differingPaths } from '../hyperparameters';
import { goTo, link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import type { ExperimentSummary } from '../types';
import { Check, Choice, Elapsed, Empty, Field, isOver, Loaded, Progress, State, Text, Time, Warnings } from '../ui';
import { useKey } from '../keys';

interface List { experiments: ExperimentSummary[]; before: number | null; warnings: string }

const states = ['RUNNING', 'QUEUED', 'STARTING', 'PAUSED', 'COMPLETED', 'ERROR', 'CANCELED', 'INTERRUPTED'];
const hyperparametersMax = 8;
const listMax = 10_000, firstShown = 60;

/** Whether each word occurs in the id, name, owner, pool, description or a label. The words must be in lower case. */
function matches(experiment: ExperimentSummary, words: string[]): boolean {
  if (words.length === 0) return true;
  const text = [experiment.id, experiment.name, experiment.owner, experiment.resource_pool, experiment.description, ...(experiment.labels ?? [])]
    .join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function progressOf(experiment: ExperimentSummary): number | null {
  return isOver(experiment.state) ? null : experiment.progress;
}

type Hyperparameters = Map<number, Map<string, string>>;

function columnsFor(paths: string[], hyperparameters: Hyperparameters, isSmallerBetter: boolean): Column<ExperimentSummary>[] {
  const fixed: Column<ExperimentSummary>[] = [
    { key: 'id', title: 'ID', isNumber: true, value: (e) => e.id, cell: (e) => <a href={link(['experiments', e.id])}>{e.id}</a> },
    { key: 'name', title: 'Name', value: (e) => e.name ?? '', cell: (e) => <a class="name" href={link(['experiments', e.id])} tabIndex={-1}><Text>{e.name ?? '(being created)'}</Text></a> },
    { key: 'state', title: 'State', value: (e) => e.state, cell: (e) => <State state={e.state} /> },
    { key: 'progress', title: 'Progress', value: progressOf, cell: (e) => <Progress share={progressOf(e)} /> },
    { key: 'trials', title: 'Trials', isNumber: true, value: (e) => e.trial_count, cell: (e) => (e.trial_count > 1 ? `${e.completed_trials}/${e.trial_count}` : e.trial_count) },
    {
      key: 'best', title: 'Best', isNumber: true, isDescendingFirst: !isSmallerBetter, value: (e) => e.best?.value ?? null,
      cell: (e) => e.best && <span title={`${e.searcher?.metric ?? ''} of trial ${e.best.trial} at step ${e.best.steps_completed}`}>{number(e.best.value)}</span>,
    },
    { key: 'metric', title: 'Metric', value: (e) => e.searcher?.metric ?? '', cell: (e) => <span class="dim"><Text>{e.searcher?.metric}</Text></span> },
    {
      key: 'duration', title: 'Duration', isNumber: true, value: (e) => (e.started ? secondsBetween(e.started, e.ended) : null),
      cell: (e) => <Elapsed from={e.started} to={e.ended} isRunning={!e.ended && e.state === 'RUNNING'} />,
    },
    { key: 'created', title: 'Created', value: (e) => e.created ?? '', cell: (e) => <Time utc={e.created} /> },
    { key: 'slots', title: 'Slots', isNumber: true, value: (e) => (e.nodes && e.slots_per_node ? e.nodes * e.slots_per_node : null) },
    { key: 'pool', title: 'Pool', value: (e) => e.resource_pool ?? '', cell: (e) => <Text>{e.resource_pool}</Text> },
    { key: 'labels', title: 'Labels', value: (e) => (e.labels ?? []).join(', '), cell: (e) => (e.labels ?? []).map((label) => <span class="label" title={visible(label)}><Text>{label}</Text></span>) },
  ];
  return [...fixed, ...paths.map((path): Column<ExperimentSummary> => {
    const text = (e: ExperimentSummary) => hyperparameters.get(e.id)?.get(path) ?? '';
    return { key: 'hp.' + path, title: path, value: (e) => (text(e) !== '' && Number.isFinite(Number(text(e))) ? Number(text(e)) : text(e)), cell: (e) => <Text>{text(e)}</Text> };
  })];
}

export function Experiments({ query }: { query: Query }) {
  const filter = query['archived'] ? { archived: true } : {};
  // Loads the newest experiments first, which is fast, and then all, if there are more.
  const [isMany, setMany] = useState(false);
  const all = useData<List>(isMany ? 'experiments' : null, { limit: listMax, ...filter }, 'all experiments');
  const newest = useData<List>(all.value ? null : 'experiments', { limit: firstShown, ...filter }, 'newest experiments');
  const hasMore = newest.value !== undefined && newest.value.before !== null;
  useEffect(() => { if (hasMore) setMany(true); }, [hasMore]);
  const data = isMany && (all.value || all.error) ? all : newest;
  return (
    <>
      <h1 class="unseen">Experiments</h1>
      <Loaded data={data} what="experiments">{(list) => <ExperimentList list={list} query={query} isWhole={data === all || list.before === null} />}</Loaded>
    </>
  );
}

function ExperimentList({ list, query, isWhole }: { list: List; query: Query; isWhole: boolean }) {
  const words = (query['q'] ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const shown = useMemo(() => list.experiments.filter((e) =>
    matches(e, words) && (!query['state'] || e.state === query['state']) && (!query['pool'] || e.resource_pool === query['pool']) && (!query['label'] || (e.labels ?? []).includes(query['label']))),
  [list, query['q'], query['state'], query['pool'], query['label']]);
  const columns = useMemo(() => {
    const hyperparameters: Hyperparameters = new Map(shown.map((e) => [e.id, new Map(describeHyperparameters(e.hyperparameters))]));
    // The best come first by the direction that most of the shown experiments have.
    const larger = shown.filter((e) => e.searcher?.smaller_is_better === false).length;
    return columnsFor(differingPaths([...hyperparameters.values()]).slice(0, hyperparametersMax), hyperparameters, 2 * larger <= shown.length);
  }, [shown]);
  const values = (of: (e: ExperimentSummary) => string[]): [string, string][] =>
    [...new Set(list.experiments.flatMap(of))].sort().map((value) => [value, value]);
  const selected = new Set((query['selected'] ?? '').split(',').filter(Boolean));
  const select = (key: string) => {
    if (!selected.delete(key)) selected.add(key);
    setQuery({ selected: [...selected].join(',') });
  };
  const compare = link(['compare'], { ids: [...selected].join(',') });
  useKey('c', () => { if (selected.size > 0) goTo(compare); });
  if (list.experiments.length === 0) {
    return (
      <>
        <Warnings text={list.warnings} />
        <Empty>There are no experiments yet. Create one with <code>det-submit experiment create exp.yaml ./code</code> and it appears here.</Empty>
      </>
    );
  }
  return (
    <>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Field label="Search" id="search" value={query['q'] ?? ''} placeholder="name, label, id  ( / )" onChange={(q) => setQuery({ q })} />
        <Choice label="State" value={query['state'] ?? ''} onChange={(state) => setQuery({ state })} options={[['', 'all'], ...states.map((s): [string, string] => [s, s.toLowerCase()])]} />
        <Choice label="Pool" value={query['pool'] ?? ''} onChange={(pool) => setQuery({ pool })} options={[['', 'all'], ...values((e) => [e.resource_pool ?? ''])]} />
        <Choice label="Label" value={query['label'] ?? ''} onChange={(label) => setQuery({ label })} options={[['', 'all'], ...values((e) => e.labels ?? [])]} />
        <Check label="archived" isOn={!!query['archived']} onChange={(on) => setQuery({ archived: on ? '1' : null })} />
        <span class="count" role="status">{!isWhole ? 'loading all …' : shown.length === list.experiments.length ? plural(shown.length, 'experiment') : `${shown.length} of ${plural(list.experiments.length, 'experiment')}`}</span>
        {selected.size > 0 && <>
          <a class="button" href={compare}>Compare {selected.size}</a>
          <button type="button" class="small" onClick={() => setQuery({ selected: null })}>clear selection</button>
        </>}
      </form>
      <Warnings text={list.warnings} />
      {isWhole && list.before !== null && <p class="note warn">Only the newest {list.experiments.length} experiments are shown.</p>}
      {shown.length === 0
        ? <Empty>No experiment matches. <a href={link(['experiments'])}>Show all</a></Empty>
        : <Table caption="Experiments" rows={shown} columns={columns} rowKey={(e) => String(e.id)} sort={query['sort'] ?? '-id'} onSort={(sort) => setQuery({ sort })} selected={selected} onSelect={select} csvName="experiments" maxHeight="calc(100vh - 9.5rem)" />}
    </>
  );
}
