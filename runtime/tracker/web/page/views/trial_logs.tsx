// The logs of a trial. The page keeps only a window of lines of a long log, which moves as the user scrolls.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, get, type Parameters } from '../api';
import { integer, localClock, utcTime, visible } from '../format';
import { setQuery, type Query } from '../route';
import type { LogLine, LogPiece, TrialDescription } from '../types';
import { Check, Choice, CommandLine, Empty, Failure, Field } from '../ui';

const plainHeight = 18, buttonHeight = 24;  // of a line; lines with a button are higher
const pieceLines = 1000;
const piecesMax = 40;      // the page keeps so many and loads others again when the user scrolls to them
const contextLines = 8;    // shown before a line that was searched
const nearEnd = 60;        // loads more when the view is so many lines from an end of the window

/** The part of the logs that the page holds: consecutive answers, and whether there are lines before and after them. */
interface Window { pieces: LogPiece[]; hasBefore: boolean; hasAfter: boolean }

const levels = ['debug', 'info', 'warning', 'error', 'critical'];

function filterOf(query: Query): Parameters {
  return {
    ...(query['run'] ? { run: query['run'] } : {}), ...(query['node'] ? { node: query['node'] } : {}), ...(query['rank'] ? { rank: query['rank'] } : {}),
    ...(query['level'] ? { level: query['level'] } : {}), ...(query['grep'] ? { grep: query['grep'] } : {}),
  };
}

export function TrialLogs({ trial, query }: { trial: TrialDescription; query: Query }) {
  const isFollowing = query['follow'] === '1';
  const runs = trial.runs.map((run): [string, string] => [String(run.run), 'run ' + run.run]);
  const command = ['det-submit trial logs', trial.name, query['run'] ? '--run ' + query['run'] : '', ...(query['rank'] ?? '').split(',').filter(Boolean).map((rank) => '--rank ' + rank), isFollowing ? '-f' : ''].filter(Boolean).join(' ');
  return (
    <section aria-label="Logs">
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Choice label="Run" value={query['run'] ?? ''} onChange={(run) => setQuery({ run, since: null })} options={[['', 'all'], ...runs]} />
        <Field label="Ranks" size={6} value={query['rank'] ?? ''} placeholder="0,3" onChange={(rank) => setQuery({ rank: /^\d+(,\d+)*$/.test(rank) ? rank : null })} />
        <Field label="Node" size={10} value={query['node'] ?? ''} onChange={(node) => setQuery({ node })} />
        <Choice label="Level" value={query['level'] ?? ''} onChange={(level) => setQuery({ level })} options={[['', 'all'], ...levels.map((level): [string, string] => [level, level + (level === 'critical' ? '' : ' and above')])]} />
        <Field label="Text" id="search" size={18} value={query['grep'] ?? ''} placeholder="regular expression" onChange={(grep) => setQuery({ grep, find: null, since: null })} />
        <Check label="follow" isOn={isFollowing} onChange={(on) => setQuery({ follow: on ? '1' : null, since: null })} />
      </form>
      {query['find'] && !query['grep'] && <div class="tools">
        <span class="dim">around a line with <code>{visible(query['find'])}</code></span>
        <button type="button" onClick={() => setQuery({ grep: query['find']!, find: null, since: null })}>back to all matches</button>
      </div>}
      <LogWindow key={[trial.name, query['run'], query['node'], query['rank'], query['level'], query['grep'], query['since']].join('\n')} trial={trial} filter={filterOf(query)} since={query['since']} isFollowing={isFollowing} found={query['grep'] || query['find'] || ''} isContext={!query['grep'] && !!query['find']} />
      <p><CommandLine text={command} /></p>
    </section>
  );
}

/** \param found is marked in the lines; isContext: the window begins with a line that has it, and shows what is before and after it */
function LogWindow({ trial, filter, since, isFollowing, found, isContext }: { trial: TrialDescription; filter: Parameters; since: string | undefined; isFollowing: boolean; found: string; isContext: boolean }) {
  const [shown, setShown] = useState<Window | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [round, setRound] = useState(0);  // number of requests of following; a new number starts the next request
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const isBusy = useRef(false);
  const isAtEnd = useRef(true);
  const keep = useRef<number | null>(null);  // the scroll position that the next drawing sets
  const path = `trials/${trial.name}/logs`;
  const lineHeight = filter['grep'] ? buttonHeight : plainHeight;
  const lines = useMemo(() => shown?.pieces.flatMap((piece) => piece.lines) ?? [], [shown?.pieces]);

  const guard = async (work: () => Promise<void>) => {
    if (isBusy.current) return;
    isBusy.current = true;
    try {
      await work();
      setError(null);
    } catch (problem) {
      if (problem instanceof ApiError && problem.status !== 0) setError(problem);
    }
    isBusy.current = false;
  };

  useEffect(() => void guard(async () => {
    const piece = await get<LogPiece>(path, { ...filter, ...(since ? { since, limit: pieceLines } : { tail: pieceLines }) });
    keep.current = since ? 0 : Infinity;
    const earlier = isContext ? await get<LogPiece>(path, { ...filter, before: piece.before, limit: pieceLines }) : null;
    if (earlier && earlier.lines.length > 0) keep.current = Math.max(0, earlier.lines.length - contextLines) * lineHeight;
    setShown({ pieces: earlier && earlier.lines.length > 0 ? [earlier, piece] : [piece], hasBefore: true, hasAfter: !piece.complete });
  }), []);

  const loadBefore = () => guard(async () => {
    if (!shown?.hasBefore) return;
    const piece = await get<LogPiece>(path, { ...filter, before: shown.pieces[0]!.before, limit: pieceLines });
    if (piece.lines.length === 0) return setShown({ ...shown, hasBefore: false });
    keep.current = (box.current?.scrollTop ?? 0) + piece.lines.length * lineHeight;
    const pieces = [piece, ...shown.pieces];
    setShown({ pieces: pieces.slice(0, piecesMax), hasBefore: true, hasAfter: shown.hasAfter || pieces.length > piecesMax });
  });

  const loadAfter = (wait: number) => guard(async () => {
    if (!shown) return;
    const piece = await get<LogPiece>(path, { ...filter, after: shown.pieces[shown.pieces.length - 1]!.after, limit: pieceLines, ...(wait > 0 ? { wait } : {}) });
    if (piece.lines.length === 0) return setShown({ ...shown, hasAfter: !piece.complete });
    const pieces = [...shown.pieces, piece];
    const cut = pieces.slice(0, Math.max(0, pieces.length - piecesMax));
    if (wait > 0 && isAtEnd.current) keep.current = Infinity;
    else if (cut.length > 0) keep.current = (box.current?.scrollTop ?? 0) - lineHeight * cut.reduce((sum, { lines: { length } }) => sum + length, 0);
    setShown({ pieces: pieces.slice(cut.length), hasBefore: shown.hasBefore || cut.length > 0, hasAfter: !piece.complete });
  });

  // Follows the log: one request at a time, which waits for new lines.
  useEffect(() => {
    if (!isFollowing || !shown) return;
    const timer = setTimeout(() => void loadAfter(20).then(() => setRound((n) => n + 1)), 500);
    return () => clearTimeout(timer);
  }, [isFollowing, round, shown === null]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setHeight(element.clientHeight);
    if (keep.current === null) return;
    element.scrollTop = keep.current === Infinity ? element.scrollHeight : keep.current;
    keep.current = null;
    setTop(element.scrollTop);
  }, [shown]);

  const onScroll = () => {
    const element = box.current;
    if (!element || !shown) return;
    setTop(element.scrollTop);
    isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - lineHeight;
    const first = element.scrollTop / lineHeight;
    if (first < nearEnd) void loadBefore();
    if (first + element.clientHeight / lineHeight > lines.length - nearEnd && shown.hasAfter) void loadAfter(0);
  };

  if (error && !shown) return <Failure error={error} />;
  if (!shown) return <p class="loading" role="status">Loading the log …</p>;
  if (lines.length === 0) {
    return Object.keys(filter).length > 0 || since
      ? <Empty>No line of the log matches.</Empty>
      : <Empty>The trial has written nothing yet.</Empty>;
  }
  const pattern = patternOf(found);
  const first = Math.max(0, Math.floor(top / lineHeight) - 20);
  const last = Math.min(lines.length, Math.ceil((top + height) / lineHeight) + 20);
  return (
    <>
      {error && <Failure error={error} />}
      <div class="log" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label="Log lines" aria-live="off">
        <div style={{ height: lines.length * lineHeight + 'px' }}>
          <div class={filter['grep'] ? 'lines high' : 'lines'} style={{ transform: `translateY(${first * lineHeight}px)` }}>
            {lines.slice(first, last).map((line, i) => <Line key={first + i} line={line} pattern={pattern} isWanted={isContext && line.time === since} onContext={filter['grep'] && line.time ? () => setQuery({ grep: null, find: found, since: line.time, follow: null, level: null }) : undefined} />)}
          </div>
        </div>
      </div>
      <p class="dim" role="status">{integer(lines.length)} lines loaded{shown.hasBefore ? '; earlier ones when you scroll up' : ', from the beginning'}{isFollowing ? '; new ones appear here' : ''}.</p>
    </>
  );
}

/** One line of the log. Its colour comes from its level: escape sequences in the line have no effect. */
function Line({ line, pattern, isWanted, onContext }: { line: LogLine; pattern: RegExp | null; isWanted: boolean; onContext: (() => void) | undefined }) {
  const text = useMemo(() => visible(withoutColours(line.message)), [line.message]);
  return (
    <div class={`line ${(line.level ?? '').toLowerCase()}${isWanted ? ' wanted' : ''}`}>
      <span class="when" title={line.time ? utcTime(line.time) : undefined}>{line.time ? localClock(line.time) : ''}</span>
      <span class="rank" title={`run ${line.run}, node ${line.node}`}>{line.rank === null ? '–' : line.rank}</span>
      {onContext && <button type="button" class="context" aria-label={'Lines around this one: ' + text.slice(0, 60)} onClick={onContext}>⋯</button>}
      <span class="text">{pattern ? marked(text, pattern) : text}</span>
    </div>
  );
}

/** The expression that the tracker searches, as far as JavaScript has it too; null if it has not, or finds empty texts. */
export function patternOf(text: string): RegExp | null {
  if (text === '') return null;
  try {
    const pattern = new RegExp(text, 'g');
    return pattern.test('') ? null : new RegExp(text, 'g');
  } catch {
    return null;
  }
}

const marksMax = 50;  // in a line

/** The text, in which the matches of a pattern are marked. */
function marked(text: string, pattern: RegExp) {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.slice(0, 20_000).matchAll(pattern)) {
    if (match[0] === '' || parts.length > 2 * marksMax) continue;
    parts.push(text.slice(end, match.index), <mark>{match[0]}</mark>);
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** Removes the escape sequences with which programs colour text in a terminal. */
export function withoutColours(text: string): string {
  return text.replace(/\u001b\[[0-9;:]*m/g, '');
}
