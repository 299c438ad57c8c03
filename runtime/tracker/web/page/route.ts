// The address of the page. The part after '#' determines the view and its filters, so that a user can send it to a colleague.
// "#/experiments/7?tab=trials" has the path [experiments, 7] and the query {tab: trials}.
import { useLayoutEffect, useState } from 'preact/hooks';
import { snapshot } from './snapshot';

export interface Route { path: string[]; query: Query }
export type Query = { readonly [name: string]: string };
export type QueryChange = { [name: string]: string | null | undefined };

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const values: { [name: string]: string } = {};
  for (const [name, value] of new URLSearchParams(query)) values[name] = value;
  return { path: path.split('/').filter((part) => part !== '').map(decode), query: values };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a view. Leaves out empty values of the query. */
export function link(path: readonly (string | number)[], query: QueryChange = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, value);
  }
  const text = parameters.toString();
  return '#/' + path.map((part) => encodeURIComponent(String(part))).join('/') + (text ? '?' + text : '');
}

const listeners = new Set<() => void>();
window.addEventListener('hashchange', () => listeners.forEach((notify) => notify()));

export function currentRoute(): Route {
  const route = parseRoute(location.hash);
  return snapshot && route.path.length === 0 ? { ...route, path: ['experiments', String(snapshot.experiment)] } : route;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  // Not useEffect, which waits for the next frame: a change of the address before it would be missed.
  useLayoutEffect(() => {
    const update = () => setRoute(currentRoute());
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  return route;
}

/** Shows another view, as a new entry of the browser's history. */
export function goTo(address: string): void {
  location.hash = address;
}

/** Changes parameters of the address without a new entry of the history. */
export function setQuery(change: QueryChange): void {
  const { path, query } = currentRoute();
  history.replaceState(null, '', location.pathname + location.search + link(path, { ...query, ...change }));
  listeners.forEach((notify) => notify());
}
