// The page of one trial: its head, why it failed, and tabs.
import { useLayoutEffect } from 'preact/hooks';
import { ActionButtons } from '../actions';
import { useData } from '../api';
import { percent, plural, valueText, visible } from '../format';
import { flatValues } from '../hyperparameters';
import { link, type Query } from '../route';
import { useCanAct } from '../tracker';
import type { Answer, Run, TrialDescription } from '../types';
import { CommandLine, Elapsed, Fact, isOver, Loaded, Progress, State, Tabs, Text, Time, useWidth, Warnings } from '../ui';
import { snapshot } from '../snapshot';
import { TrialCurves } from './trial_curves';
import { TrialLogs } from './trial_logs';
import { trialTabs } from './trial_tabs';

export function TrialPage({ id, query }: { id: string; query: Query }) {
  const data = useData<Answer<TrialDescription>>('trials/' + encodeURIComponent(id), {}, 'trial ' + id, 15000);
  const experiment = data.value?.answer.experiment_id;
  return (
    <>
      <nav class="trail" aria-label="Where this is">
        <a href={link(['experiments'])}>Experiments</a> / {experiment !== undefined ? <a href={link(['experiments', experiment])}>{experiment}</a> : '…'} / <span>{id}</span>
      </nav>
      {!data.value && <h1><span class="dim">Trial</span> <Text>{id}</Text></h1>}
      <Loaded data={data} what={'trial ' + id}>{({ answer, warnings }) => (
        <>
          <Head trial={answer} />
          <Warnings text={warnings} />
          <WhyItFailed trial={answer} />
          <Body trial={answer} query={query} />
        </>
      )}</Loaded>
    </>
  );
}

function Head({ trial }: { trial: TrialDescription }) {
  const last = trial.runs[trial.runs.length - 1];
  const values = [...flatValues(trial.hyperparameters)];
  const canAct = useCanAct();
  return (
    <header class="head">
      <h1><span class="dim">Trial</span> {trial.name} <State state={trial.state} decision={trial.decision} /></h1>
      <dl class="facts">
        <Fact name="Progress">{trial.progress !== null && !isOver(trial.state) ? <Progress share={trial.progress} /> : null}</Fact>
        <Fact name="Status">{trial.status && <Text>{trial.status}</Text>}</Fact>
        <Fact name="Runs">{String(trial.runs.length)}</Fact>
        <Fact name="Started"><Time utc={trial.runs[0]?.started} none="not yet" /></Fact>
        <Fact name="Duration"><Elapsed from={trial.runs[0]?.started} to={last?.ended} isRunning={!isOver(trial.state) && !last?.ended} /></Fact>
        <Fact name="Nodes"><Text>{last?.hosts ?? ''}</Text></Fact>
        <Fact name="Job">{last?.job ?? ''}</Fact>
        <Fact name="Dropped reports">{trial.dropped_reports > 0 ? String(trial.dropped_reports) : null}</Fact>
      </dl>
      {values.length > 0 && <dl class="facts values">{values.map(([path, value]) => <Fact name={path}><Text>{valueText(value)}</Text></Fact>)}</dl>}
      {trial.waits?.straggler && (
        <p class="note warn">Rank {trial.waits.straggler.rank}{trial.waits.straggler.host && <> on <Text>{trial.waits.straggler.host}</Text></>} is the one that {plural(trial.waits.straggler.waiting_ranks.length, 'rank waits', 'ranks wait')} for, in <Text>{trial.waits.straggler.operation}</Text>: {percent(trial.waits.straggler.share)} of the last {trial.waits.period_s} s. <a href={link(['trials', trial.name], { tab: 'system' })}>Who waits for whom</a></p>
      )}
      {trial.alerts.map((alert) => <p class={'note ' + (alert.level === 'error' ? 'bad' : 'warn')}><Time utc={alert.time} /> {alert.level}: <strong><Text>{alert.title}</Text></strong> <Text>{alert.description}</Text></p>)}
      {canAct && !isOver(trial.state) && <ActionButtons buttons={[{ request: { action: 'kill-trial', target: trial.name }, verb: 'Kill', isBad: true, title: 'Kill trial ' + trial.name }]} />}
      <details class="commands"><summary>Commands</summary>
        <div><CommandLine text={`det-submit trial logs ${trial.name} -f`} /></div>
        <div><CommandLine text={`det-submit trial download ${trial.name}`} /></div>
        {!canAct && !isOver(trial.state) && <div><CommandLine text={`det-submit trial kill ${trial.name}`} /></div>}
      </details>
    </header>
  );
}

const windowBefore_s = 30;

/** The address of a run's log, from 30 seconds before a time. rank: only this rank. */
export function logLink(trial: string, run: number, at: string | null, rank?: number | null): string {
  const since = at ? new Date(Date.parse(at) - windowBefore_s * 1000).toISOString() : null;
  return link(['trials', trial], { tab: 'logs', run: String(run), since, rank: rank === null || rank === undefined ? null : String(rank) });
}

export function isFailure(run: Run): boolean {
  return run.cause !== null && ['failed', 'hung', 'node-failed', 'not-launched', 'time-limit', 'invalid-hyperparameters'].includes(run.cause);
}

/** The last output of a rank, scrolled to its end: the last line of a traceback is the exception. */
function LastOutput({ text }: { text: string }) {
  const [element, width] = useWidth<HTMLPreElement>();
  useLayoutEffect(() => { if (element.current) element.current.scrollTop = element.current.scrollHeight; }, [text, width]);
  return <pre class="output" ref={element} tabIndex={0} role="region" aria-label="Last output">{visible(text.replace(/\n$/, ''))}</pre>;
}

function WhyItFailed({ trial }: { trial: TrialDescription }) {
  const run = trial.runs[trial.runs.length - 1];
  if (!run?.ended || !isFailure(run)) return null;
  const failure = run.first_failure;
  return (
    <section class="note bad" aria-label="Why it failed">
      <strong>Run {run.run} ended: <Text>{run.message}</Text></strong> <span class="dim">({run.cause}, exit code {run.exit_code})</span>
      {failure && <>
        <p>{failure.rank !== null ? `Rank ${failure.rank}` : 'The launcher'} on <Text>{failure.host}</Text> failed first
          {failure.signal !== null ? `, by signal ${failure.signal}` : failure.exit_code ? `, with exit code ${failure.exit_code}` : ''}
          {failure.setup && <>: <Text>{failure.setup}</Text></>}{failure.lost_peer && <>: it had lost <Text>{failure.lost_peer}</Text></>}.</p>
        {failure.last_words && <LastOutput text={failure.last_words} />}
      </>}
      <p><a class="button" href={logLink(trial.name, run.run, failure?.time ?? run.ended, failure?.rank)}>Log at that moment</a></p>
    </section>
  );
}

function Body({ trial, query }: { trial: TrialDescription; query: Query }) {
  const tabs: [string, string][] = [['curves', 'Curves'], ...trialTabs.map(({ key, title }): [string, string] => [key, title]), ...(snapshot ? [] : [['logs', 'Logs'] as [string, string]])];
  const active = tabs.some(([key]) => key === query['tab']) ? query['tab']! : 'curves';
  const Tab = trialTabs.find(({ key }) => key === active)?.View;
  return (
    <>
      <Tabs path={['trials', trial.name]} tabs={tabs} active={active} />
      {active === 'curves' && <TrialCurves trial={trial} query={query} />}
      {active === 'logs' && <TrialLogs trial={trial} query={query} />}
      {Tab && <Tab trial={trial} query={query} />}
    </>
  );
}
