// The runs of a trial: a time line, and a table that shows how each run ended.
import { useData } from '../api';
import { duration, localTime, number, utcTime } from '../format';
import type { Query } from '../route';
import { CsvButton } from '../table';
import type { Answer, Checkpoint, Experiment, Interruption, Run, TrialDescription } from '../types';
import { Empty, isOver, Text, Time, useWidth } from '../ui';
import { isFailure, logLink } from './trial';

interface Segment { kind: string; from: number; to: number; text: string }

const ms = (utc: string | null | undefined) => (utc ? Date.parse(utc) : null);

/** The phases of a run on the time line, as far as they are recorded. previous: the interruption that ended the run before. */
function segmentsOf(run: Run, queuedFrom: number | null, interruption: Interruption | undefined, previous: Interruption | undefined, end: number): Segment[] {
  const started = ms(run.started);
  if (started === null) return [];
  const segments: Segment[] = [];
  const add = (kind: string, from: number | null, to: number | null, text: string) => {
    if (from !== null && to !== null && to > from) segments.push({ kind, from, to, text: `${text}: ${duration((to - from) / 1000)}` });
  };
  const ended = ms(run.ended) ?? end;
  add('queued', ms(previous?.queued) ?? queuedFrom, started, 'queued');
  const trained = ms(previous?.trained);
  add('starting', started, trained, 'starting and loading');
  const noticed = ms(interruption?.noticed), saved = ms(interruption?.saved) ?? ms(interruption?.acknowledged);
  add('training', trained ?? started, noticed ?? ended, 'training');
  add('stopping', noticed, ms(interruption?.acknowledged) ?? saved ?? ended, 'from the notice to the agreement of the ranks');
  add('saving', ms(interruption?.acknowledged) ?? noticed, saved, 'saving');
  add('stopping', saved, noticed ? ended : null, 'ending');
  return segments;
}

const kinds: [string, string][] = [['queued', 'queued'], ['starting', 'starting'], ['training', 'training'], ['stopping', 'stopping after a notice'], ['saving', 'saving']];
const rowHeight = 24, left = 52, right = 20, top = 6;

export function TrialRuns({ trial }: { trial: TrialDescription; query: Query }) {
  const experiment = useData<Answer<Experiment>>(`experiments/${trial.experiment_id}`);
  const checkpoints = useData<Answer<Checkpoint[]>>(`experiments/${trial.experiment_id}/checkpoints`);
  if (trial.runs.length === 0) return <Empty>The trial has not started yet.</Empty>;
  const own = checkpoints.value?.answer.filter((checkpoint) => checkpoint.trial === trial.name) ?? [];
  return (
    <section aria-label="Runs">
      <TimeLine trial={trial} created={ms(experiment.value?.answer.created)} checkpoints={own} />
      <RunTable trial={trial} />
      <CsvButton name={`trial-${trial.name}-runs`} rows={() => [['run', 'started', 'ended', 'nodes', 'slots', 'job', 'restarts', 'from step', 'cause', 'message'],
        ...trial.runs.map((run) => [run.run, run.started, run.ended, run.hosts, run.slots, run.job, run.restart_count, run.steps_completed, run.cause, run.message])]} />
      <Interruptions trial={trial} />
    </section>
  );
}

function TimeLine({ trial, created, checkpoints }: { trial: TrialDescription; created: number | null; checkpoints: Checkpoint[] }) {
  const now = Date.now();
  const last = trial.runs[trial.runs.length - 1]!;
  const isRunning = !isOver(trial.state) && !last.ended;
  const first = ms(trial.runs[0]?.started) ?? now;
  const from = Math.min(created ?? first, first);
  const to = Math.max(from + 1000, isRunning ? now : Math.max(...trial.runs.map((run) => ms(run.ended) ?? ms(run.started) ?? from)));
  const [frame, available] = useWidth<HTMLDivElement>();
  const width = Math.max(340, available || 1000);
  const x = (time: number) => left + (time - from) / (to - from) * (width - left - right);
  const height = top + trial.runs.length * rowHeight + 26;
  const byRun = new Map(trial.interruptions.map((interruption) => [interruption.run, interruption]));
  const ticks = (width < 640 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((share) => from + share * (to - from));
  const label = (time: number) => (to - from > 86400e3 ? localTime(new Date(time).toISOString()) : (time === from ? 'begin' : '+' + duration((time - from) / 1000)));
  return (
    <figure class="chart">
      <figcaption><span class="title">Time line</span> <span class="dim">from <Time utc={new Date(from).toISOString()} /></span></figcaption>
      <div class="scroll picture" ref={frame} tabIndex={0} role="region" aria-label="Time line of the runs">
        <svg class="time-line" width={width} height={height} role="group" aria-label={`${trial.runs.length} runs on a time line; the table below has their times.`}>
          {ticks.map((tick, i) => <g transform={`translate(${x(tick)} 0)`}><line class="grid" y1={top} y2={height - 22} /><text y={height - 8} text-anchor={i === 0 ? 'start' : i === ticks.length - 1 ? 'end' : 'middle'}>{label(tick)}</text></g>)}
          {trial.runs.map((run, i) => {
            const y = top + i * rowHeight;
            const end = ms(run.ended);
            const isBad = isFailure(run);
            return (
              <g transform={`translate(0 ${y})`}>
                <text x="0" y="15">run {run.run}</text>
                {segmentsOf(run, i === 0 ? created : null, byRun.get(run.run), i > 0 ? byRun.get(trial.runs[i - 1]!.run) : undefined, isRunning && run === last ? now : to)
                  .map((part) => <rect class={part.kind} x={x(part.from)} y="4" height="14" width={Math.max(1, x(part.to) - x(part.from))}><title>{part.text}</title></rect>)}
                {checkpoints.filter((checkpoint) => checkpoint.run === run.run).map((checkpoint) => <path class="saved" d={`M${x(Date.parse(checkpoint.time))} 2l4 -4h-8z`} transform="translate(0 3)"><title>{`checkpoint at step ${checkpoint.steps_completed}, ${utcTime(checkpoint.time)}`}</title></path>)}
                {end !== null && <a href={logLink(trial.name, run.run, run.first_failure?.time ?? run.ended, run.first_failure?.rank)} aria-label={`Log at the end of run ${run.run}`}>
                  <circle class={isBad ? 'end bad' : 'end'} cx={x(end)} cy="11" r="5"><title>{`${run.cause}: ${run.message}`}</title></circle>
                  {isBad && <text class="end-mark" x={x(end)} y="11" dy="0.35em" text-anchor="middle">×</text>}
                </a>}
              </g>
            );
          })}
        </svg>
      </div>
      <ul class="legend">
        {kinds.map(([kind, title]) => <li><svg width="14" height="10" aria-hidden="true" class="time-line"><rect class={kind} width="14" height="10" /></svg>{title}</li>)}
        <li><svg width="10" height="10" aria-hidden="true" class="time-line"><path class="saved" d="M5 9l4 -7h-8z" /></svg>checkpoint</li>
        <li><svg width="12" height="12" aria-hidden="true" class="time-line"><circle class="end" cx="6" cy="6" r="5" /></svg>end, with its log</li>
        <li><svg width="12" height="12" aria-hidden="true" class="time-line"><circle class="end bad" cx="6" cy="6" r="5" /></svg>failure, with its log</li>
      </ul>
    </figure>
  );
}

const follows: { [follow: string]: string } = {
  stop: 'the trial has ended', 'restart-in-place': 'restarted on its nodes', requeue: 'queued again', 'left-to-slurm': 'Slurm queued it again', 'requeue-held': 'waits for activate',
};

function RunTable({ trial }: { trial: TrialDescription }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of runs">
      <table><caption class="unseen">Runs</caption>
        <thead><tr><th scope="col" class="number">Run</th><th scope="col">Started</th><th scope="col" class="number">Duration</th><th scope="col">Nodes</th><th scope="col" class="number">Slots</th><th scope="col">Job</th><th scope="col" class="number">From step</th><th scope="col">How it ended</th><th scope="col">Then</th><th scope="col">Log</th></tr></thead>
        <tbody>{[...trial.runs].reverse().map((run) => (
          <tr>
            <td class="number">{run.run}</td>
            <td><Time utc={run.started} /></td>
            <td class="number">{run.started && run.ended ? duration((Date.parse(run.ended) - Date.parse(run.started)) / 1000) : ''}</td>
            <td><Text>{run.hosts ?? ''}</Text></td>
            <td class="number">{run.slots ?? ''}</td>
            <td>{run.job}{run.restart_count ? ` (restart ${run.restart_count})` : ''}</td>
            <td class="number">{number(run.steps_completed)}</td>
            <td class="wrap">{run.ended ? <><span class={isFailure(run) ? 'state bad' : ''}>{run.cause}</span>: <Text>{run.message ?? ''}</Text></> : <span class="dim">not recorded yet</span>}</td>
            <td>{follows[run.follow ?? ''] ?? run.follow}</td>
            <td><a href={logLink(trial.name, run.run, run.first_failure?.time ?? run.ended)} aria-label={`Log of run ${run.run}`}>log</a></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Interruptions({ trial }: { trial: TrialDescription }) {
  if (trial.interruptions.length === 0) return null;
  const after = (interruption: Interruption, time: string | null) => {
    const begin = ms(interruption.noticed ?? interruption.ended);
    return time && begin !== null ? '+' + ((Date.parse(time) - begin) / 1000).toFixed(1) + ' s' : '';
  };
  return (
    <>
      <h2>Interruptions</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of interruptions">
        <table><caption class="unseen">Interruptions</caption>
          <thead><tr><th scope="col" class="number">Run</th><th scope="col">Notice</th>{['Acknowledged', 'Saved', 'Ended', 'Queued', 'Started', 'Trained'].map((title) => <th scope="col" class="number">{title}</th>)}</tr></thead>
          <tbody>{trial.interruptions.map((interruption) => (
            <tr><td class="number">{interruption.run}</td><td><Time utc={interruption.noticed} none="none" /></td>
              {(['acknowledged', 'saved', 'ended', 'queued', 'started', 'trained'] as const).map((key) => <td class="number">{after(interruption, interruption[key])}</td>)}</tr>
          ))}</tbody>
        </table>
      </div>
    </>
  );
}
