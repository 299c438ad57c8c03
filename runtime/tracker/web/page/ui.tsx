// Small components that several views use.
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ApiError, Data } from './api';
import { duration, localTime, secondsBetween, utcTime, visible } from './format';
import { link, type QueryChange } from './route';

/** The CSS class of each state, for its colour, and a mark for viewers who do not see the colour. */
const stateLooks: { [state: string]: [string, string] } = {
  RUNNING: ['running', '▶'], STARTING: ['running', '▷'], SUBMITTING: ['waiting', '…'], QUEUED: ['waiting', '…'],
  PAUSED: ['waiting', 'Ⅱ'], COMPLETED: ['good', '✓'], ERROR: ['bad', '✗'], INTERRUPTED: ['bad', '!'], CANCELED: ['off', '⊘'],
  STOPPING_CANCELED: ['off', '⊘'], STOPPING_KILLED: ['off', '⊘'],
};

/** \param decision what the search last decided about the trial: one that it stopped has not trained to its end */
export function State({ state, decision = null }: { state: string; decision?: string | null | undefined }) {
  if (state === 'COMPLETED' && decision === 'stop') return <span class="state cut"><span class="mark" aria-hidden="true">◖</span>stopped by the search</span>;
  const [look, mark] = stateLooks[state] ?? ['off', '?'];
  return <span class={'state ' + look}><span class="mark" aria-hidden="true">{mark}</span>{state.toLowerCase().replace(/_/g, ' ')}</span>;
}

export function isOver(state: string): boolean {
  return ['COMPLETED', 'CANCELED', 'ERROR'].includes(state);
}

/** Text of a job. It never becomes markup, and control characters are visible. */
export function Text({ children }: { children: string | null | undefined }) {
  return <bdi>{visible(children ?? '')}</bdi>;
}

export function Time({ utc, none = '' }: { utc: string | null | undefined; none?: string }) {
  return utc ? <time dateTime={utc} title={utcTime(utc)}>{localTime(utc)}</time> : <>{none}</>;
}

/** A duration. While isRunning it counts up every second. */
export function Elapsed({ from, to, isRunning }: { from: string | null | undefined; to: string | null | undefined; isRunning: boolean }) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return <>{!from || (!to && !isRunning) ? '' : duration(secondsBetween(from, to))}</>;
}

export function Progress({ share }: { share: number | null }) {
  if (share === null) return null;
  const value = Math.round(100 * Math.min(1, Math.max(0, share)));
  return (
    <span class="progress" role="img" aria-label={value + ' percent'}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="all" width="100" height="8" /><rect class="done" width={value} height="8" /></svg>
      <span aria-hidden="true">{value} %</span>
    </span>
  );
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A command to paste into a terminal, with a button that copies it. */
export function CommandLine({ text }: { text: string }) {
  const [said, say] = useState('');
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    const is_done = await copyText(text);
    if (!is_done && code.current) getSelection()?.selectAllChildren(code.current);
    say(is_done ? 'copied' : 'selected');
    setTimeout(() => say(''), 1500);
  };
  return (
    <span class="command">
      <code ref={code}>{text}</code>
      <button type="button" class="small" onClick={() => void copy()} aria-label={'Copy ' + text}>{said || 'copy'}</button>
      <span class="unseen" role="status">{said}</span>
    </span>
  );
}

/** \param children links to parts of other views */
export function Tabs({ path, tabs, active, query = {}, children }: { path: (string | number)[]; tabs: [string, string][]; active: string; query?: QueryChange; children?: ComponentChildren }) {
  return (
    <nav class="tabs" aria-label="Parts of this view">
      {tabs.map(([key, title]) => (
        <a href={link(path, { ...query, tab: key === tabs[0]![0] ? null : key })} aria-current={key === active ? 'page' : undefined}>{title}</a>
      ))}
      {children}
    </nav>
  );
}

export function Failure({ error }: { error: ApiError }) {
  if (error.status === 401) return null;  // the page shows the field for the token instead
  return (
    <div class="note bad" role="alert">
      <strong>{error.status === 404 ? 'Not found. ' : error.code === 'slurm-unreachable' ? 'Slurm does not answer. ' : 'That did not work. '}</strong>
      <Text>{error.message}</Text> {error.code && <code>[{error.code}]</code>}
      {error.hint && <div><Text>{'Hint: ' + error.hint}</Text></div>}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Loading({ what }: { what: string }) {
  return <p class="loading" role="status">Loading {what} …</p>;
}

/** Shows the loaded value, else that it is being loaded, and an error if there is one. */
export function Loaded<T>({ data, what, children }: { data: Data<T>; what: string; children: (value: T) => ComponentChildren }): VNode {
  return (
    <>
      {data.error && data.error.status !== 0 && <Failure error={data.error} />}
      {data.value !== undefined ? children(data.value) : !data.error || data.error.status === 0 ? <Loading what={what} /> : null}
    </>
  );
}

export function Warnings({ text }: { text: string | undefined }) {
  const words = visible(text?.trim() ?? '');
  if (!words) return null;
  if (!words.includes('[slurm-unreachable]')) return <pre class="note warn" role="status">{words}</pre>;
  return (
    <div class="note warn" role="status">Slurm does not answer: what follows is as the journals have it.
      <details><summary>What it said</summary><pre>{words}</pre></details>
    </div>
  );
}

/** A ref for an element, and the element's width in pixels, which follows changes. */
export function useWidth<E extends HTMLElement>() {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(() => setWidth(element.current?.clientWidth ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}

/** A legend for the shades of lines. It names the best trial. */
export function ShadeLegend({ best, words }: { best: string | null; words: string }) {
  return (
    <p class="dim shades">
      {best && <><svg width="18" height="8" aria-hidden="true"><line x1="0" y1="4" x2="18" y2="4" stroke-width="3" stroke="var(--best)" /></svg> best trial <a href={link(['trials', best])}>{best}</a>; </>}
      others from worst <span class="ramp" aria-hidden="true" /> to best{words}.
    </p>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return children === '' || children === null || children === undefined ? null : <div class="fact"><dt>{visible(name)}</dt><dd>{children}</dd></div>;
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, title]) => <option value={key} selected={key === value}>{visible(title)}</option>)}
      </select>
    </label>
  );
}

export function Check({ label, isOn, onChange }: { label: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return <label class="check"><input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />{label}</label>;
}

/** A text field. Calls onChange 200 ms after the user has stopped typing, and at once after Enter and Escape. */
export function Field({ label, value, placeholder, onChange, id, size = 18 }: {
  label: string; value: string; placeholder?: string; onChange: (value: string) => void; id?: string; size?: number;
}) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  const tell = (next: string, delay: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next), delay);
  };
  return (
    <label class="choice">
      <span>{label}</span>
      <input id={id} type="search" size={size} value={text} placeholder={placeholder} spellcheck={false} autocomplete="off"
        onInput={(event) => { setText(event.currentTarget.value); tell(event.currentTarget.value, 200); }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') tell(event.currentTarget.value, 0);
          if (event.key === 'Escape') { setText(''); tell('', 0); event.currentTarget.blur(); }
        }} />
    </label>
  );
}

/**
 * Whether a key press is for a field or dialog that has the focus, or for the browser, and not for the page. A dialog that was
 * closed keeps the focus until the next frame.
 */
export function isForField(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return event.ctrlKey || event.metaKey || event.altKey || !!target?.closest('input, select, textarea, [contenteditable], dialog[open]');
}
