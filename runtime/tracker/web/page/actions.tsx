// What the page can do besides reading, if the tracker was started with --actions. The tracker says first what will happen;
// only what it has said, and the user has confirmed, is done.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, askAgain, post } from './api';
import type { ActionPlan, ActionRequest, ActionResult, JsonObject } from './types';
import { CommandLine, Failure, Loading, Text, Warnings } from './ui';

const asError = (problem: unknown) => (problem instanceof ApiError ? problem : new ApiError(0, 'internal', String(problem), ''));

/** Does what needs no question, because the user has just typed it: a note, a label. */
export async function doAction(request: ActionRequest): Promise<void> {
  const plan = await post<ActionPlan>('actions', request);
  await post<ActionResult>('actions/' + plan.confirmation, {});
  askAgain();
}

export interface Planned { plan: ActionPlan | null; error: ApiError | null; isAsking: boolean }

/** What the tracker says about a request. Asks again when the request changes, after it has stayed the same for waitMs. */
export function usePlan(request: ActionRequest | null, waitMs = 0): Planned {
  const text = JSON.stringify(request);
  const [planned, setPlanned] = useState<Planned & { of: string }>({ plan: null, error: null, isAsking: request !== null, of: text });
  useEffect(() => {
    if (request === null) return setPlanned({ plan: null, error: null, isAsking: false, of: text });
    const control = new AbortController();
    setPlanned((old) => ({ ...old, isAsking: true }));
    const timer = setTimeout(() => {
      post<ActionPlan>('actions', request, control.signal).then(
        (plan) => setPlanned({ plan, error: null, isAsking: false, of: text }),
        (problem) => { if (!control.signal.aborted) setPlanned({ plan: null, error: asError(problem), isAsking: false, of: text }); });
    }, waitMs);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  return planned.of === text ? planned : { ...planned, isAsking: true };  // an answer to another request is not confirmed
}

/** A modal dialog. It is there as long as the component is. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="action" aria-label={title} onClose={onClose} onCancel={onClose}>
      <h2><Text>{title}</Text></h2>
      {children}
    </dialog>
  );
}

/** The order of the waiting jobs after a move, as `det-submit job update --dry-run` says it. */
function Order({ answer }: { answer: JsonObject }) {
  const moves = answer['moves'] as JsonObject[] | undefined, order = answer['order'] as JsonObject[] | undefined;
  if (!moves || !order) return null;
  return (
    <>
      <ul class="moves">{moves.length === 0 ? <li>Nothing changes.</li> : moves.map((move) => <li><Text>{String(move['text'] ?? '')}</Text></li>)}</ul>
      {order.length > 0 && <div class="scroll short" tabIndex={0} role="region" aria-label="Order after the move">
        <table class="narrow"><caption class="unseen">Order after the move</caption>
          <thead><tr><th scope="col" class="number">#</th><th scope="col">Job</th><th scope="col">Name</th><th scope="col">User</th><th scope="col" class="number">Priority</th></tr></thead>
          <tbody>{order.map((job, i) => <tr><td class="number">{i + 1}</td><td>{String(job['id'])}</td><td><Text>{String(job['name'])}</Text></td><td><Text>{String(job['user'])}</Text></td><td class="number">{String(job['priority'])}</td></tr>)}</tbody>
        </table>
      </div>}
    </>
  );
}

/** Says what a request will do, and does it when the user confirms. */
export function Confirm({ request, verb, isBad = false, onDone, onClose }: {
  request: ActionRequest | null; verb: string; isBad?: boolean; onDone: (result: ActionResult) => void; onClose: () => void;
}) {
  const { plan, error, isAsking } = usePlan(request);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [isDoing, setDoing] = useState(false);
  const name = plan?.confirmation;
  useEffect(() => setFailure(null), [name]);
  const confirm = async () => {
    if (!name || isDoing) return;
    setDoing(true);
    try {
      const result = await post<ActionResult>('actions/' + name, {});
      askAgain();
      onDone(result);
    } catch (problem) {
      setFailure(asError(problem));
      askAgain();
    }
    setDoing(false);
  };
  return (
    <>
      <div class="plan" role="status">
        {isAsking && !plan && <Loading what="what will happen" />}
        {error && <Failure error={error} />}
        {plan && !error && <>
          {plan.summary?.map((line) => <p><Text>{line}</Text></p>)}
          {plan.answer && <Order answer={plan.answer} />}
          <Warnings text={plan.messages} />
          {plan.command && <p><CommandLine text={plan.command} /></p>}
        </>}
        {failure && <Failure error={failure} />}
      </div>
      <div class="tools">
        <button type="button" class={isBad ? 'do bad' : 'do'} disabled={!name || isAsking || isDoing || failure !== null} onClick={() => void confirm()}>{isDoing ? 'Doing it …' : verb}</button>
        <button type="button" onClick={onClose}>Back</button>
      </div>
    </>
  );
}

export interface ActionButton { request: ActionRequest; verb: string; title: string; isBad?: boolean }

/** Buttons, each of which asks for confirmation in a dialog. */
export function ActionButtons({ buttons, children }: { buttons: ActionButton[]; children?: ComponentChildren }) {
  const [open, setOpen] = useState<ActionButton | null>(null);
  const [said, say] = useState('');
  const close = () => setOpen(null);
  return (
    <div class="tools actions">
      {buttons.map((button) => <button type="button" onClick={() => { say(''); setOpen(button); }}>{button.verb}</button>)}
      {children}
      <span class="dim" role="status">{said}</span>
      {open && <Dialog title={open.title} onClose={close}>
        <Confirm request={open.request} verb={open.verb} isBad={open.isBad ?? false} onClose={close} onDone={({ messages }) => { say(messages.trim() || 'done'); close(); }} />
      </Dialog>}
    </div>
  );
}
