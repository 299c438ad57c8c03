// A picture of the search: its brackets and rungs, and the rung at which each trial was stopped.
import { useData } from '../api';
import { integer, number, percent, valueText } from '../format';
import { link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import type { Answer, Experiment, SamplerDecision, SearchView } from '../types';
import { Empty, Fact, Loaded, Text, Time, useWidth } from '../ui';

export function ExperimentSearch({ experiment, query }: { experiment: Experiment; query: Query }) {
  const data = useData<Answer<SearchView>>(`experiments/${experiment.id}/search`);
  return <Loaded data={data} what="the search">{({ answer }) => <Search search={answer} query={query} />}</Loaded>;
}

function Search({ search, query }: { search: SearchView; query: Query }) {
  if (search.sampler) return <Sampler search={search} decisions={search.sampler} query={query} />;
  if (search.brackets.length === 0) return <Empty>The searcher <code>{search.searcher}</code> has no rungs: it stops no trials early. See the trials.</Empty>;
  const best = search.best_trial;
  return (
    <section aria-label="Search">
      <dl class="facts">
        <Fact name="Searcher">{search.searcher}</Fact>
        <Fact name="Metric"><Text>{search.metric}</Text></Fact>
        <Fact name="Progress">{search.progress === null ? null : percent(search.progress)}</Fact>
        <Fact name="Best">{best && <><a href={link(['trials', best.name])}>trial {best.name}</a>: {number(best.value)} at step {integer(best.steps_completed)}</>}</Fact>
      </dl>
      <p class="dim">Each column is a rung, the trials in it ordered by their metric, the best on top. A line is a trial that trained on; <span class="stopped">×</span> marks where a trial was stopped. A trial above the dashed line is among those that train on; the search decides when a trial arrives, before later ones are known.</p>
      <div class="brackets">{search.brackets.map((_, index) => <Bracket search={search} index={index} />)}</div>
      <Decisions search={search} query={query} />
    </section>
  );
}

function Sampler({ search, decisions, query }: { search: SearchView; decisions: SamplerDecision[]; query: Query }) {
  const best = search.best_trial;
  const rows = decisions.map((decision, number) => ({ ...decision, number }));
  const columns: Column<typeof rows[number]>[] = [
    { key: 'number', title: 'Decision', isNumber: true, value: (d) => d.number },
    { key: 'time', title: 'Time', value: (d) => d.time, cell: (d) => <Time utc={d.time} /> },
    { key: 'trial', title: 'Trial', isNumber: true, value: (d) => d.trial, cell: (d) => <a href={link(['trials', `${search.id}.${d.trial}`])}>{search.id}.{d.trial}</a> },
    { key: 'question', title: 'Question', value: (d) => d.question },
    { key: 'answer', title: 'Answer', value: answerText, cell: (d) => <Text>{answerText(d)}</Text> },
  ];
  return (
    <section aria-label="Search">
      <dl class="facts">
        <Fact name="Searcher">{search.searcher}: the program of <code>searcher.command</code></Fact>
        <Fact name="Metric"><Text>{search.metric}</Text></Fact>
        <Fact name="Best">{best && <><a href={link(['trials', best.name])}>trial {best.name}</a>: {number(best.value)} at step {integer(best.steps_completed)}</>}</Fact>
      </dl>
      {rows.length === 0
        ? <Empty>The program has not been asked yet: it is when the first trial begins.</Empty>
        : <Table caption="Decisions of the program" rows={rows} columns={columns} rowKey={(d) => String(d.number)} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName={`experiment-${search.id}-decisions`} />}
    </section>
  );
}

function answerText({ hyperparameters, stop, lengths, close, prune }: SamplerDecision): string {
  return [
    ...(stop === null ? Object.entries(hyperparameters ?? {}).map(([name, value]) => `${name}=${valueText(value)}`) : ['the search ends: ' + stop]),
    ...Object.entries(lengths).map(([trial, length]) => `train ${trial} to ${length}`),
    ...(close.length > 0 ? ['close ' + close.join(', ')] : []),
    ...(prune.length > 0 ? ['prune ' + prune.join(', ')] : []),
  ].join('; ');
}

const left = 30, top = 40;

function Bracket({ search, index }: { search: SearchView; index: number }) {
  const bracket = search.brackets[index]!;
  const most = Math.max(1, ...bracket.rungs.map((rung) => rung.entries.length));
  const step = Math.min(16, Math.max(1, 420 / most));
  const size = Math.max(1.2, Math.min(5, step / 2.4));
  const [frame, available] = useWidth<HTMLDivElement>();
  const gap = Math.max(120, (available - left - 60) / Math.max(1, bracket.rungs.length - 1) - 4);
  const width = left + (bracket.rungs.length - 1) * gap + 60, height = top + most * step + 20;
  const x = (rung: number) => left + rung * gap;
  const y = (rank: number) => top + (rank + 0.5) * step;
  const stopped = new Set(search.decisions.filter((d) => d.bracket === index && d.decision === 'stop').map((d) => `${d.rung} ${d.trial}`));
  let lines = '';
  bracket.rungs.slice(1).forEach((rung, i) => {
    const before = new Map(bracket.rungs[i]!.entries.map((entry, rank) => [entry.trial, rank]));
    rung.entries.forEach((entry, rank) => {
      const from = before.get(entry.trial);
      if (from !== undefined) lines += `M${x(i)} ${y(from).toFixed(1)}L${x(i + 1)} ${y(rank).toFixed(1)}`;
    });
  });
  const isLabelled = step >= 11;
  return (
    <figure class="bracket">
      <figcaption>Bracket {index}: {bracket.trials} trials, {percent(bracket.progress)}</figcaption>
      <div class="scroll picture" ref={frame} tabIndex={0} role="region" aria-label={`Picture of bracket ${index}`}>
        <svg width={width} height={height} role="group" aria-label={`Bracket ${index}: ` + bracket.rungs.map((rung, i) => `rung ${i} of length ${rung.length}: ${rung.entries.length} arrived, ${rung.stopped_trials} stopped`).join('; ') + '.'}>
          <path class="trained" d={lines} />
          {bracket.rungs.map((rung, i) => (
            <g>
              <text class="name" x={x(i)} y="14" text-anchor="middle">rung {i}</text>
              <text x={x(i)} y="28" text-anchor="middle">step {integer(rung.length)}</text>
              {rung.cut_off !== null && i + 1 < bracket.rungs.length && rung.kept_trials > 0 && <line class="cut" x1={x(i) - 12} x2={x(i) + 12} y1={top + rung.kept_trials * step} y2={top + rung.kept_trials * step}><title>{`cut-off ${number(rung.cut_off)}`}</title></line>}
              {rung.entries.map((entry, rank) => {
                const isStopped = stopped.has(`${i} ${entry.trial}`);
                const name = `trial ${search.id}.${entry.trial}: ${entry.metric === null ? 'failed' : number(entry.metric)}${isStopped ? ', stopped here' : ''}`;
                return (
                  <a href={link(['trials', `${search.id}.${entry.trial}`])} tabIndex={-1} aria-label={name}>
                    {isStopped
                      ? <path class="stopped" d={`M${x(i) - size} ${y(rank) - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}`}><title>{name}</title></path>
                      : <circle class={`${search.id}.${entry.trial}` === search.best_trial?.name ? 'best' : ''} cx={x(i)} cy={y(rank)} r={size}><title>{name}</title></circle>}
                    {isLabelled && <text class="id" x={x(i) + 9} y={y(rank)} dy="0.32em">{entry.trial}</text>}
                  </a>
                );
              })}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

type Decision = SearchView['decisions'][number];

function Decisions({ search, query }: { search: SearchView; query: Query }) {
  const columns: Column<Decision>[] = [
    { key: 'trial', title: 'Trial', isNumber: true, value: (d) => d.trial, cell: (d) => <a href={link(['trials', `${search.id}.${d.trial}`])}>{search.id}.{d.trial}</a> },
    { key: 'decision', title: 'Decision', value: (d) => d.decision },
    { key: 'bracket', title: 'Bracket', isNumber: true, value: (d) => d.bracket },
    { key: 'rung', title: 'Rung', isNumber: true, value: (d) => d.rung },
    { key: 'steps', title: 'Steps', isNumber: true, value: (d) => d.steps_completed, cell: (d) => integer(d.steps_completed) },
    { key: 'metric', title: 'Metric', isNumber: true, value: (d) => Number(d.entry.split('@')[1] ?? NaN), cell: (d) => number(Number(d.entry.split('@')[1] ?? NaN)) },
    { key: 'time', title: 'Time', value: (d) => d.time, cell: (d) => <Time utc={d.time} /> },
    { key: 'among', title: 'Among the trials', value: (d) => d.trials, cell: (d) => <span class="dim"><Text>{d.trials}</Text></span> },
  ];
  if (search.decisions.length === 0) return <Empty>The search has not decided about a trial yet.</Empty>;
  return (
    <>
      <h2>Decisions</h2>
      <Table caption="Decisions of the search" rows={search.decisions} columns={columns} rowKey={(d) => `${d.trial} ${d.rung} ${d.time}`} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName={`experiment-${search.id}-decisions`} />
    </>
  );
}
