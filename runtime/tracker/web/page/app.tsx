// The frame of the page: navigation, state of the connection, field for the token, and the view that the address names.
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { reconnect, setToken, useConnection, useData } from './api';
import { useKey } from './keys';
import { goTo, link, useRoute, type Route } from './route';
import type { TrackerInfo } from './types';
import { Empty, Text, Time } from './ui';
import { snapshot } from './snapshot';
import { Tracker } from './tracker';
import { Compare } from './views/compare';
import { Pools, Queue } from './views/queue';
import { Experiments } from './views/experiments';
import { ExperimentPage } from './views/experiment';
import { TrialPage } from './views/trial';

const places: [string, string, string][] = [['experiments', 'Experiments', 'e'], ['compare', 'Compare', 'c'], ['queue', 'Queue', 'q'], ['pools', 'Pools', 'p']];

export function App() {
  const route = useRoute();
  const connection = useConnection();
  useKey('/', () => document.querySelector<HTMLInputElement>('#search')?.focus());
  usePlaceKeys();
  const info = useData<TrackerInfo>(snapshot || connection === 'refused' ? null : 'tracker', {}, 'tracker', 60000).value ?? {};
  return (
    <Tracker.Provider value={info}>
      {!snapshot && <Bar here={route.path[0] ?? 'experiments'} />}
      {snapshot && <div class="banner">This file shows experiment {snapshot.experiment} as of <Time utc={snapshot.made} />. It needs no server and does not change.</div>}
      {connection === 'gone' && <div class="banner bad" role="alert">The tracker does not answer. This page tries again by itself and goes on when the tracker is back; what is shown may be old. Start the tracker with <code>det-submit web</code>.</div>}
      <main id="main" tabIndex={-1}>{connection === 'refused' ? <Login /> : <View route={route} />}</main>
    </Tracker.Provider>
  );
}

function usePlaceKeys() {
  const isG = useRef(false);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (target.closest('input, select, textarea, dialog[open]') || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isG.current) {
        const place = places.find(([, , key]) => key === event.key);
        if (place) {
          event.preventDefault();
          goTo(link([place[0]]));
        }
      }
      isG.current = event.key === 'g';
    };
    document.addEventListener('keydown', onKey, true);
    return () => document.removeEventListener('keydown', onKey, true);
  }, []);
}

function View({ route: { path, query } }: { route: Route }) {
  const [first = 'experiments', id] = path;
  useEffect(() => { document.title = [id, first, 'det-tracker'].filter(Boolean).join(' · '); }, [first, id]);
  if (first === 'experiments') return id ? <ExperimentPage key={id} id={id} query={query} /> : <Experiments query={query} />;
  if (first === 'compare') return <Compare query={query} />;
  if (first === 'queue') return <Queue query={query} />;
  if (first === 'pools') return <Pools query={query} />;
  if (first === 'trials' && id) return <TrialPage key={id} id={id} query={query} />;
  return <Empty>There is no view at this address. <a href={link(['experiments'])}>All experiments</a></Empty>;
}

const themes: [string, string][] = [['auto', 'theme: auto'], ['light', 'theme: light'], ['dark', 'theme: dark']];
const themeKey = 'det-theme';

export function applyTheme(theme: string): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  document.dispatchEvent(new Event('themechange'));
}

export function savedTheme(): string {
  return snapshot ? 'auto' : localStorage.getItem(themeKey) ?? 'auto';
}

function Bar({ here }: { here: string }) {
  const [theme, setTheme] = useState(savedTheme);
  const help = useRef<HTMLDialogElement>(null);
  const openHelp = () => help.current?.showModal();
  useKey('?', openHelp);
  const next = () => {
    const index = (themes.findIndex(([key]) => key === theme) + 1) % themes.length;
    const key = themes[index]![0];
    localStorage.setItem(themeKey, key);
    setTheme(key);
    applyTheme(key);
  };
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>To the contents</a>
      <nav aria-label="Views">
        {places.map(([key, title]) => <a href={link([key])} aria-current={here === key ? 'page' : undefined}>{title}</a>)}
      </nav>
      <Where />
      <button type="button" class="small" onClick={next}>{themes.find(([key]) => key === theme)?.[1] ?? ''}</button>
      <button type="button" class="small" onClick={openHelp}>keys: ?</button>
      <dialog ref={help} aria-label="Keys">
        <h2>Keys</h2>
        <dl class="keys">
          <dt>/</dt><dd>search</dd><dt>j k</dt><dd>next and previous row</dd><dt>x</dt><dd>select the row</dd><dt>c</dt><dd>compare what is selected</dd>
          <dt>Enter</dt><dd>open</dd>{places.map(([, title, key]) => <><dt>g {key}</dt><dd>{title}</dd></>)}
          <dt>← → ↑ ↓</dt><dd>in a chart: along a line, to another line</dd><dt>+ − 0</dt><dd>in a chart: zoom, whole range</dd><dt>?</dt><dd>these keys</dd>
        </dl>
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </header>
  );
}

/** The root directory and host of the experiments, and the state of the connection. */
function Where() {
  const connection = useConnection();
  const info = useContext(Tracker);
  const words = { connecting: 'connecting', live: 'live', gone: 'tracker gone', refused: 'token needed' }[connection];
  const { root = '', home = '' } = info;
  const shownRoot = home !== '' && root.startsWith(home + '/') ? '~' + root.slice(home.length) : root;
  return (
    <span class="where">
      {root && <span class="root" title={root}><Text>{shownRoot}</Text>{info.host && <> on <Text>{info.host}</Text></>}
        {info.is_foreign && <> of <Text>{info.owner}</Text>, read only</>}</span>}
      {info.index_error && <span class="state bad" title={info.index_error}>index not written</span>}
      <span class={'connection ' + connection} role="status">{words}</span>
    </span>
  );
}

function Login() {
  const [text, setText] = useState('');
  return (
    <div class="login">
      <h1>This tracker asks for its token</h1>
      <p>Open the address that <code>det-submit web</code> prints: it contains the token. Or paste the token here; it stays in this tab.</p>
      <form onSubmit={(event) => { event.preventDefault(); setToken(text); reconnect(); }}>
        <label class="choice"><span>Token</span><input id="token" type="password" autocomplete="off" size={40} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <button type="submit">Connect</button>
      </form>
    </div>
  );
}
