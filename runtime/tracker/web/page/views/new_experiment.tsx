// A new experiment from an existing one, with an edited configuration that is checked while the user types.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Confirm, Dialog, usePlan } from '../actions';
import { useData } from '../api';
import { goTo, link } from '../route';
import type { ActionRequest, ConfigOrigins, JsonObject, Problem } from '../types';
import { Check, Failure, Loaded, Text, Warnings } from '../ui';

export function NewExperiment({ parent }: { parent: string }) {
  const config = useData<ConfigOrigins>(`experiments/${encodeURIComponent(parent)}/config`);
  const first = useRef<string | undefined>(undefined);
  first.current ??= config.value?.text;  // later answers do not replace what the user types
  return (
    <section aria-label="New experiment">
      <h2>New experiment from {parent} <span class="dim">with its code</span></h2>
      <Loaded data={config} what="the configuration">{() => <Editor parent={parent} original={first.current!} />}</Loaded>
    </section>
  );
}

const lineHeight = 18;  // of style.css
const checkAfterMs = 500;  // after the last key

function Editor({ parent, original }: { parent: string; original: string }) {
  const [text, setText] = useState(original);
  const [isPaused, setPaused] = useState(false);
  const [isConfirming, setConfirming] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const request: ActionRequest = { action: 'fork', target: parent, config: text, ...(isPaused ? { paused: true } : {}) };
  const { plan, error, isAsking } = usePlan(text.trim() === '' ? null : request, checkAfterMs);
  const problems = plan?.problems ?? [];
  const isGood = plan !== null && plan.confirmation !== null && !isAsking && !error;
  const lines = text.split('\n');
  const wrong = new Set(problems.map((problem) => problem.line));
  useEffect(() => area.current?.focus({ preventScroll: true }), []);
  const showPlace = ({ line = 1, column = 1 }: Problem) => {
    const at = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
    const element = area.current;
    if (!element) return;
    element.focus({ preventScroll: true });
    element.setSelectionRange(at, at);
    scrollTo({ top: element.getBoundingClientRect().top + scrollY + line * lineHeight - innerHeight * 0.6 });  // below the problems
  };
  return (
    <>
      <div class="above-editor" tabIndex={-1}>
        <div class="tools">
          <button type="button" class="do" disabled={!isGood} onClick={() => setConfirming(true)}>Create …</button>
          <Check label="paused: its jobs wait until it is activated" isOn={isPaused} onChange={setPaused} />
          <a class="button" href={link(['experiments', parent])}>Back to {parent}</a>
          <span role="status" class={problems.length > 0 ? 'state bad' : 'dim'}>{isAsking ? 'checking …' : error ? 'not checked' : problems.length > 0 ? `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}` : isGood ? `no problems: ${describe(plan.answer)}` : ''}</span>
        </div>
        {error && <Failure error={error} />}
        <ul class="problems" aria-label="Problems">{problems.map((problem) => (
          <li class={'note ' + (problem.severity === 'error' ? 'bad' : 'warn')}>
            {problem.line !== undefined && <button type="button" class="small" onClick={() => showPlace(problem)}>line {problem.line}, column {problem.column}</button>} <Text>{problem.message}</Text> <code>[{problem.code}]</code>
            {problem.hint && <div><Text>{'Hint: ' + problem.hint}</Text></div>}
          </li>
        ))}</ul>
        <Warnings text={plan?.messages} />
      </div>
      <div class="editor">
        <pre aria-hidden="true">{lines.map((_, i) => <>{wrong.has(i + 1) ? <span class="bad">✗ {i + 1}</span> : i + 1}{'\n'}</>)}</pre>
        <textarea ref={area} aria-label="Configuration" rows={lines.length + 1} spellcheck={false} autocomplete="off" autocapitalize="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      {isConfirming && <Dialog title={`Create an experiment from ${parent}`} onClose={() => setConfirming(false)}>
        {plan && <p>It gets the code of experiment {parent}: <Text>{describe(plan.answer)}</Text>. {isPaused ? 'Its jobs wait, held, until it is activated.' : 'Its jobs start when Slurm has the nodes.'}</p>}
        <Confirm request={request} verb="Create" onClose={() => setConfirming(false)} onDone={({ answer }) => goTo(link(['experiments', String(answer['id'])]))} />
      </Dialog>}
    </>
  );
}

/** "name, 2 nodes of 4 slots in pool gpu" of the answer of a dry run. */
function describe(answer: JsonObject | null | undefined): string {
  if (!answer) return '';
  return `'${String(answer['name'] ?? '')}', ${String(answer['trials'] ?? '')} in pool ${String(answer['resource_pool'] ?? '')}`;
}
