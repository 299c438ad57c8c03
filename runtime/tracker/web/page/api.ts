// Requests to the tracker. The page uses no other server. All addresses are relative to that of the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import { answerIn, snapshot } from './snapshot';

export type Parameters = { readonly [name: string]: string | number | boolean | undefined };

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly hint: string) {
    super(message);
  }
}

/** The state of the connection, which the top of the page shows. gone: no answer. refused: the token is missing or wrong. */
export type Connection = 'connecting' | 'live' | 'gone' | 'refused';

const tokenKey = 'det-token';
// A snapshot needs no token, and a page of a file: URL may have no session storage.
const saved = snapshot ? null : sessionStorage;
let token = saved?.getItem(tokenKey) ?? '';

/** Takes the token from an address like "#token=...", which det-submit web prints, and removes it from the address. */
export function takeTokenFromAddress(): void {
  const match = /^#token=([^&]*)&?(.*)$/s.exec(location.hash);
  if (!match) return;
  setToken(match[1] ?? '');
  history.replaceState(null, '', location.pathname + location.search + (match[2] ? '#' + match[2] : ''));
}

export function setToken(text: string): void {
  token = text.trim();
  saved?.setItem(tokenKey, token);
}

export function addressOf(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return 'v1/' + path + (text ? '?' + text : '');
}

/** The answer to a GET request. Throws an ApiError if it is an error; with status 0 if the tracker does not answer. */
export async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  if (snapshot) {
    const answer = answerIn(snapshot, path, parameters);
    if (answer === undefined) throw new ApiError(404, '', 'This file does not hold that part of the experiment.', '');
    return answer as T;
  }
  return await ask<T>(addressOf(path, parameters), { cache: 'no-store', ...(signal ? { signal } : {}) });
}

/** The answer to a POST request with a JSON body. Throws as get() does. */
export async function post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  return await ask<T>(addressOf(path), { method: 'POST', body: JSON.stringify(body), ...(signal ? { signal } : {}) }, { 'Content-Type': 'application/json' });
}

async function ask<T>(address: string, options: RequestInit, headers: Record<string, string> = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, { ...options, headers: token ? { ...headers, Authorization: 'Bearer ' + token } : headers });
  } catch (problem) {
    if (options.signal?.aborted) throw problem;
    setConnection('gone');
    throw new ApiError(0, 'unreachable', 'The tracker does not answer.', '');
  }
  if (response.ok) return await response.json() as T;
  const body = await response.json().catch(() => null) as { error?: { code?: string; message?: string; hint?: string } } | null;
  const error = body?.error;
  if (response.status === 401) setConnection('refused');
  if (response.status === 502 || (response.status === 503 && !error) || (response.status === 504 && !error)) {
    setConnection('gone');  // a proxy has answered, because it does not reach the tracker
    throw new ApiError(0, 'unreachable', 'The tracker does not answer.', '');
  }
  throw new ApiError(response.status, error?.code ?? 'http', error?.message ?? 'The tracker answered with status ' + response.status, error?.hint ?? '');
}

// --- Live updates -----------------------------------------------------------------------------------------------------

let connection: Connection = 'connecting';
const connectionListeners = new Set<() => void>();
const changeListeners = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  connectionListeners.forEach((notify) => notify());
}

export function useConnection(): Connection {
  const [shown, show] = useState(connection);
  useEffect(() => {
    const update = () => show(connection);
    connectionListeners.add(update);
    update();
    return () => void connectionListeners.delete(update);
  }, []);
  return shown;
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function whenVisible(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
  });
}

let wake: () => void = () => {};

/** Tries to connect at once, for example with another token. */
export function reconnect(): void {
  setConnection('connecting');
  wake();
}

/**
 * Waits for changes as long as the page is open, with one request at a time, and calls the listeners of the views. Sends no
 * request while the page is not visible. While the tracker does not answer, tries again after 0.5 to 4 seconds.
 */
export async function followChanges(): Promise<never> {
  let known: number | undefined;
  let pause = 500;
  for (;;) {
    await whenVisible();
    const begin = Date.now();
    try {
      const { number } = await get<{ number: number }>('changes', known === undefined ? {} : { after: known, wait: 30 });
      const is_new = number !== known || connection !== 'live';
      known = number;
      pause = 500;
      setConnection('live');
      if (is_new) changeListeners.forEach((notify) => notify());
      // At most one redraw a second.
      await sleep(Math.max(0, 1000 - (Date.now() - begin)));
    } catch (problem) {
      known = undefined;
      if (problem instanceof ApiError && problem.status !== 0 && problem.status !== 401) setConnection('gone');
      await Promise.race([sleep(pause), new Promise<void>((resolve) => (wake = resolve))]);
      pause = Math.min(pause * 2, 4000);
    }
  }
}

/** Lets all views ask again, because this page has changed something. */
export function askAgain(): void {
  changeListeners.forEach((notify) => notify());
}

export interface Data<T> {
  value: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
}

/**
 * The answer to a request. Sends the request again after each change. The value is undefined until the first answer. If path
 * or parameters change, the old value stays until the new answer arrives, unless `key` changes too.
 * \param path null: sends no request
 * \param key identifies what is shown: values of another key are never shown
 * \param everyMs sends the request at this interval too, for data that changes without the journals (Slurm's queue)
 */
export function useData<T>(path: string | null, parameters: Parameters = {}, key = path ?? '', everyMs = 0): Data<T> {
  const address = path === null ? '' : addressOf(path, parameters);
  const [data, setData] = useState<Data<T> & { key: string }>({ key, value: undefined, error: undefined, isLoading: true });
  const latest = useRef(key);
  latest.current = key;
  useEffect(() => {
    if (path === null) return;
    let isOver = false, isAsking = false, isStale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let rest = 0, answered = 0;
    let isDue = false;  // something changed, and the last answer may not include it
    const control = new AbortController();
    const ask = async () => {
      if (isAsking) return void (isStale = true);
      isAsking = true;
      isStale = isDue = false;
      const begin = performance.now();
      try {
        const value = await get<T>(path, parameters, control.signal);
        if (!isOver) setData({ key, value, error: undefined, isLoading: false });
      } catch (problem) {
        if (isOver) return;
        const error = problem instanceof ApiError ? problem : new ApiError(0, 'internal', String(problem), '');
        // The old value stays while the tracker does not answer.
        setData((old) => ({ key, value: old.key === key ? old.value : undefined, error, isLoading: false }));
      }
      isAsking = false;
      // A request whose answer takes long is sent less often.
      answered = performance.now();
      rest = Math.min(10_000, Math.max(1000, 5 * (answered - begin)));
      isDue ||= isStale;
      if (isDue) schedule(rest);
      else if (everyMs > 0) schedule(everyMs);
    };
    const schedule = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => void (document.hidden ? schedule(1000) : ask()), ms);
    };
    // Further changes do not delay the request that is due.
    const onChange = () => {
      if (isDue) return;
      isDue = true;
      schedule(Math.max(0, rest - (performance.now() - answered)));
    };
    setData((old) => (old.key === key ? { ...old, isLoading: true } : { key, value: undefined, error: undefined, isLoading: true }));
    void ask();
    changeListeners.add(onChange);
    return () => {
      isOver = true;
      clearTimeout(timer);
      control.abort();
      changeListeners.delete(onChange);
    };
  }, [address, key, everyMs]);
  return data.key === key ? data : { value: undefined, error: undefined, isLoading: true };
}
