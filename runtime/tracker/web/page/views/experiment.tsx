// The page of one experiment: its head, the failed trials, and tabs.
import { useState } from 'preact/hooks';
import { ActionButtons, doAction, type ActionButton } from '../actions';
import { ApiError, useData, type Data } from '../api';
import { plural, valueText, visible } from '../format';
import { link, type Query } from '../route';
import { snapshot } from '../snapshot';
import { useCanAct } from '../tracker';
import type { Answer, Experiment, ExperimentSummary, Json, JsonObject, Trial, TrialRow } from '../types';
import { CommandLine, Elapsed, Fact, Failure, isOver, Loaded, Progress, State, Tabs, Text, Time, Warnings } from '../ui';
import { ExperimentCurves, type MetricNames } from './experiment_curves';
import { NewExperiment } from './new_experiment';
import { ExperimentTrials } from './experiment_trials';
import { experimentTabs } from './experiment_tabs';

/** Reads the searcher from an experiment's configuration. */
export function searcherOf(config: JsonObject | undefined): { name: string; metric: string; isSmallerBetter: boolean } {
  const searcher = (config?.['searcher'] ?? {}) as JsonObject;
  return {
    name: valueText(searcher['name'] as Json), metric: valueText(searcher['metric'] as Json),
    isSmallerBetter: searcher['smaller_is_better'] !== false,
  };
}

export function ExperimentPage({ id, query }: { id: string; query: Query }) {
  const data = useData<Answer<Experiment>>('experiments/' + encodeURIComponent(id), {}, 'experiment ' + id, 15000);
  // The first view needs these answers. They are requested at the same time, because a request through ssh takes long.
  const isFirst = !query['tab'];
  const names = useData<MetricNames>(isFirst ? `experiments/${encodeURIComponent(id)}/metrics` : null);
  const trials = useData<Answer<TrialRow[]>>(isFirst ? `experiments/${encodeURIComponent(id)}/trials` : null);
  return (
    <>
      <nav class="trail" aria-label="Where this is"><a href={link(['experiments'])}>Experiments</a> / <span>{id}</span></nav>
      <div class="head-place">
        {!data.value && <h1><span class="dim">Experiment</span> <Text>{id}</Text></h1>}
        <Loaded data={data} what={'experiment ' + id}>{({ answer, warnings }) => (
          <>
            <Head experiment={answer} />
            <Warnings text={warnings} />
            <FailedTrials experiment={answer} />
            <IdleTrials experiment={answer} />
          </>
        )}</Loaded>
      </div>
      {(data.value || !data.error) && <Body id={id} experiment={data.value?.answer} query={query} names={names} trials={trials} />}
    </>
  );
}

function Head({ experiment: e }: { experiment: Experiment }) {
  const searcher = searcherOf(e.config);
  const ended = e.trials.filter((trial) => isOver(trial.state)).length;
  const canAct = useCanAct();
  // The summary of this experiment alone: the list asks for the same.
  const summary = useData<{ experiments: ExperimentSummary[] }>(isOver(e.state) ? null : 'experiments', { before: e.id + 1, limit: 1, archived: true }, 'summary ' + e.id);
  const progress = summary.value?.experiments.find((found) => found.id === e.id)?.progress ?? null;
  const slots = e.nodes && e.slots_per_node ? `${e.nodes} × ${e.slots_per_node}` : '';
  return (
    <header class="head">
      <h1><span class="dim">Experiment {e.id}</span> <Text>{e.name ?? ''}</Text> <State state={e.state} /></h1>
      {e.description && <p><Text>{e.description}</Text></p>}
      <dl class="facts">
        <Fact name="Progress">{progress !== null && !isOver(e.state) ? <Progress share={progress} /> : null}</Fact>
        <Fact name="Trials">{e.trials.length > 1 ? `${ended} of ${e.trials.length} ended` : '1'}</Fact>
        <Fact name="Searcher">{searcher.name && <>{searcher.name}, {searcher.isSmallerBetter ? 'smallest' : 'largest'} <Text>{searcher.metric}</Text></>}</Fact>
        <Fact name="Started"><Time utc={e.started} none="not yet" /></Fact>
        <Fact name="Duration"><Elapsed from={e.started} to={e.ended} isRunning={!e.ended && !isOver(e.state)} /></Fact>
        <Fact name="Pool"><Text>{e.resource_pool ?? ''}</Text></Fact>
        <Fact name="Nodes × slots">{slots}</Fact>
        <Fact name="Owner"><Text>{e.owner ?? ''}</Text></Fact>
        <Fact name={e.job_ids.length > 1 ? 'Jobs' : 'Job'}>{e.job_ids.join(', ')}</Fact>
        <Fact name="Parent">{e.parent_id ? <a href={link(['experiments', e.parent_id])}>{e.parent_id}</a> : null}</Fact>
        <Fact name="Labels">{e.labels?.length ? e.labels.map((label) => <span class="label" title={visible(label)}><Text>{label}</Text></span>) : null}</Fact>
      </dl>
      {(e.notes || canAct) && <Notes experiment={e} canAct={canAct} />}
      {canAct ? <Actions experiment={e} /> : <Commands experiment={e} />}
    </header>
  );
}

/** The commands that can act on the experiment in its state. The page itself only reads. */
function Commands({ experiment: e }: { experiment: Experiment }) {
  const commands = isOver(e.state)
    ? [`det-submit experiment continue ${e.id}`, `det-submit experiment ${e.archived ? 'unarchive' : 'archive'} ${e.id}`]
    : e.state === 'PAUSED' || e.state === 'INTERRUPTED'
      ? [`det-submit experiment activate ${e.id}`, `det-submit experiment cancel ${e.id}`]
      : [`det-submit experiment pause ${e.id}`, `det-submit experiment cancel ${e.id}`];
  return (
    <details class="commands"><summary>Commands</summary>
      {commands.map((text) => <div><CommandLine text={text} /></div>)}
      <div><CommandLine text={`det-submit experiment fork ${e.id} --config KEY=VALUE`} /></div>
      <div><CommandLine text={`det-submit experiment export ${e.id} --html experiment-${e.id}.html`} /></div>
    </details>
  );
}

/** The notes, and with actions also fields to change notes and labels. */
function Notes({ experiment: e, canAct }: { experiment: Experiment; canAct: boolean }) {
  const [text, setText] = useState<string | null>(null);  // null: not being edited
  const [label, setLabel] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const change = async (action: string, value: string) => {
    setBusy(true);
    try {
      await doAction({ action, target: String(e.id), value });
      setError(null);
      if (action === 'set-notes') setText(null);
      else setLabel('');
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'internal', String(problem), ''));
    }
    setBusy(false);
  };
  return (
    <section class="notes" aria-label="Notes">
      {text === null ? e.notes && <p><Text>{e.notes}</Text></p> : <textarea aria-label="Notes" rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      {canAct && <div class="tools">
        {text === null ? <button type="button" class="small" onClick={() => setText(e.notes ?? '')}>edit notes</button> : <>
          <button type="button" disabled={isBusy} onClick={() => void change('set-notes', text)}>Save notes</button><button type="button" onClick={() => setText(null)}>Back</button></>}
        {(e.labels ?? []).map((each) => <button type="button" class="small" disabled={isBusy} aria-label={'Remove label ' + each} onClick={() => void change('label-remove', each)}><Text>{each}</Text> ×</button>)}
        <form onSubmit={(event) => { event.preventDefault(); if (label !== '') void change('label-add', label); }}>
          <label class="choice"><span>New label</span><input type="search" size={12} value={label} onInput={(event) => setLabel(event.currentTarget.value)} /></label>
        </form>
      </div>}
      {error && <Failure error={error} />}
    </section>
  );
}

/** The actions that are possible in the experiment's state. */
function Actions({ experiment: e }: { experiment: Experiment }) {
  const of = (action: string, verb: string, isBad = false): ActionButton => ({ request: { action, target: String(e.id) }, verb, isBad, title: `${verb} experiment ${e.id}` });
  const cancel = of('cancel', 'Cancel', true), kill = of('kill', 'Kill', true);
  const buttons = isOver(e.state) ? [e.archived ? of('unarchive', 'Unarchive') : of('archive', 'Archive')]
    : ['PAUSED', 'INTERRUPTED', 'SUBMITTING'].includes(e.state) ? [of('activate', 'Activate'), cancel, kill]
      : e.state.startsWith('STOPPING') ? [kill] : [of('pause', 'Pause'), cancel, kill];
  return <ActionButtons buttons={buttons}><a class="button" href={link(['experiments', e.id], { tab: 'new' })}>New from this …</a></ActionButtons>;
}

const failuresShown = 5;

function lastEnd(trial: Trial) {
  return [...trial.runs].reverse().find((run) => run.ended);
}

/** The first trials that failed or were interrupted, each with the message of its last end and a link to its log. */
function FailedTrials({ experiment }: { experiment: Experiment }) {
  const failed = experiment.trials.filter((trial) => trial.state === 'ERROR' || trial.state === 'INTERRUPTED');
  if (failed.length === 0) return null;
  return (
    <section class="note bad" aria-label="Failed trials">
      <strong>{plural(failed.length, 'trial')} failed</strong>
      <ul>{failed.slice(0, failuresShown).map((trial) => {
        const run = lastEnd(trial);
        return (
          <li>
            <a href={link(['trials', trial.name])}>Trial {trial.name}</a>: <Text>{run?.message ?? 'its end is not recorded'}</Text>
            {run?.cause && <span class="dim"> ({run.cause})</span>} <a href={link(['trials', trial.name], { tab: 'logs', run: run ? String(run.run) : null })}>log</a>
          </li>
        );
      })}</ul>
      {failed.length > failuresShown && <a href={link(['experiments', experiment.id], { tab: 'trials', sort: 'state' })}>and {failed.length - failuresShown} more</a>}
    </section>
  );
}

/** The first trials whose last run is idle, or ended because it was. */
function IdleTrials({ experiment }: { experiment: Experiment }) {
  const idle = experiment.trials.flatMap((trial) => {
    const run = trial.runs.at(-1);
    const text = run?.cause === 'idle' ? run.message : run && !run.ended ? run.alerts.at(-1)?.description : null;
    return text ? [{ trial, text }] : [];
  });
  if (idle.length === 0) return null;
  return (
    <section class="note warn" aria-label="Idle trials">
      <strong>{plural(idle.length, 'trial')} idle</strong>
      <ul>{idle.slice(0, failuresShown).map(({ trial, text }) => (
        <li><a href={link(['trials', trial.name])}>Trial {trial.name}</a>: <Text>{text}</Text></li>
      ))}</ul>
    </section>
  );
}

/** Links to the parts of the only trial of an experiment. */
function trialTabsOf(trial: string) {
  const tabs: [string, string][] = [...(snapshot ? [] : [['logs', 'Logs'] as [string, string]]), ['system', 'System'], ['runs', 'Runs']];
  return tabs.map(([tab, title]) => <a href={link(['trials', trial], { tab })}>{title}</a>);
}

function Body({ id, experiment, query, names, trials }: {
  id: string; experiment: Experiment | undefined; query: Query; names: Data<MetricNames>; trials: Data<Answer<TrialRow[]>>;
}) {
  const tabs: [string, string][] = [['curves', 'Curves'], ['trials', 'Trials'], ...experimentTabs.map(({ key, title }): [string, string] => [key, title])];
  const active = !query['tab'] ? 'curves' : tabs.some(([key]) => key === query['tab']) ? query['tab'] : 'trials';
  const canAct = useCanAct();
  if (canAct && query['tab'] === 'new') return <NewExperiment parent={id} />;
  const Tab = experimentTabs.find(({ key }) => key === active)?.View;
  return (
    <>
      <Tabs path={['experiments', id]} tabs={tabs} active={active}>{experiment?.trials.length === 1 && trialTabsOf(experiment.trials[0]!.name)}</Tabs>
      {active === 'curves' && <ExperimentCurves id={id} query={query} names={names} trials={trials} />}
      {experiment && active === 'trials' && <ExperimentTrials experiment={experiment} query={query} />}
      {experiment && Tab && <Tab experiment={experiment} query={query} />}
    </>
  );
}
