// A chart of lines, each with its own x, over the axes of plot.ts.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { nearestIndex, rangeOfX, rangeOfY, widen, type Line, type Range } from './curves';
import { download, duration, integer, localTime, number, plural, toCsv, utcTime, visible, withUnit } from './format';
import { Plot } from './plot';
import { goTo } from './route';

export interface ChartProps {
  title: string;
  lines: readonly Line[];
  /** The meaning of x: steps, times in seconds since 1970, or seconds since the first report. */
  axis: 'steps' | 'time' | 'seconds';
  isLog?: boolean;
  unit?: string;
  /** The values have k, M or G in front of their unit. */
  isScaled?: boolean;
  range: Range | null;
  onZoom: (range: Range | null) => void;
  height?: number;
  /** Number of points before the tracker reduced them. */
  points?: number;
  isLoading?: boolean;
}

interface Shown { line: number; point: number }

/** The labels of a time axis, as exact as the distance of its ticks (in seconds) requires. */
function clockTexts(ticks: number[], seconds: number): string[] {
  const parts: Intl.DateTimeFormatOptions = seconds < 60 ? { hour: '2-digit', minute: '2-digit', second: '2-digit' }
    : seconds < 86400 ? { hour: '2-digit', minute: '2-digit' } : { month: 'short', day: 'numeric' };
  const format = new Intl.DateTimeFormat(undefined, { ...parts, hourCycle: 'h23' });
  return ticks.map((tick) => format.format(tick * 1000));
}

/** Replaces CSS variables in a colour by their values, because a canvas does not resolve them. */
function resolveColor(color: string, style: CSSStyleDeclaration): string {
  return color.replace(/var\((--[\w-]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim());
}

/** The theme, "light" or "dark". Draws the component again when it changes. */
export function useTheme(): string {
  const name = () => document.documentElement.dataset['theme'] ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const [theme, setTheme] = useState(name);
  useLayoutEffect(() => {
    const update = () => setTheme(name());
    const query = matchMedia('(prefers-color-scheme: dark)');
    query.addEventListener('change', update);
    document.addEventListener('themechange', update);
    return () => {
      query.removeEventListener('change', update);
      document.removeEventListener('themechange', update);
    };
  }, []);
  return theme;
}

/** Widens a range a little, so that the first and the last point are not cut. */
function pad({ min, max }: Range): Range {
  const margin = (max - min) * 0.008;
  return { min: min - margin, max: max + margin };
}

/** Number of values that a plot can't show. */
function countNotFinite(lines: readonly Line[]): number {
  let count = 0;
  for (const { y, isPale } of lines)
    for (let i = 0; !isPale && i < y.length; ++i) if (!Number.isFinite(y[i]!)) ++count;
  return count;
}

function pathOf(plot: Plot, line: Line, isLog: boolean): Path2D {
  const path = new Path2D();
  let isDown = false;
  for (let i = 0; i < line.x.length; ++i) {
    const value = line.y[i]!;
    if (!Number.isFinite(value) || (isLog && value <= 0)) {
      isDown = false;
      continue;
    }
    const x = plot.xAt(line.x[i]!), y = plot.yAt(value);
    if (isDown) path.lineTo(x, y);
    else {
      path.moveTo(x, y);
      // A point without neighbours is drawn as a dot.
      const next = line.y[i + 1];
      if (next === undefined || !Number.isFinite(next)) path.arc(x, y, 1.5, 0, 2 * Math.PI);
    }
    isDown = true;
  }
  return path;
}

function drawLines(plot: Plot, lines: readonly Line[], isLog: boolean, style: CSSStyleDeclaration): void {
  const { ctx } = plot;
  ctx.lineJoin = 'round';
  for (const line of [...lines.filter((l) => l.isPale), ...lines.filter((l) => !l.isPale)]) {
    ctx.globalAlpha = line.isPale ? 0.25 : 1;
    ctx.strokeStyle = resolveColor(line.color, style);
    ctx.lineWidth = line.width ?? 1.5;
    ctx.setLineDash(line.dash ?? []);
    ctx.stroke(pathOf(plot, line, isLog));
  }
}

function makePlot(box: HTMLElement, { axis, height = 240, isLog = false, isScaled, unit = '' }: ChartProps, lines: readonly Line[], x: Range, y: Range, onSelect: (range: Range) => void): Plot {
  const style = getComputedStyle(box);
  return new Plot(box, {
    width: Math.max(120, box.clientWidth), height, x, y, isLog, isTime: axis === 'time', onSelect,
    xLabel: axis === 'time' ? 'time' : axis === 'seconds' ? 'since the first report' : 'steps',
    xTexts: axis === 'time' ? clockTexts : (ticks) => ticks.map((tick) => (axis === 'seconds' ? duration(tick) : tick % 1 === 0 ? integer(tick) : '')),
    yTexts: (ticks) => ticks.map((tick) => (isScaled ? withUnit(tick, unit) : number(tick, 4))),
    textColor: style.getPropertyValue('--dim').trim(), gridColor: style.getPropertyValue('--grid').trim(),
    draw: (plot) => drawLines(plot, lines, isLog, style),
  });
}

/** The line and the point nearest to a position in the plot; null if none is within 40 pixels. */
function findNear(plot: Plot, lines: readonly Line[], left: number, top: number): Shown | null {
  const x = plot.valueAt(left);
  let best: Shown | null = null, least = 40 * 40;
  lines.forEach((line, at) => {
    if (line.isPale || line.x.length === 0) return;
    const point = nearestIndex(line.x, x);
    if (!Number.isFinite(line.y[point]!)) return;
    const dx = plot.xAt(line.x[point]!) - left, dy = plot.yAt(line.y[point]!) - top;
    if (dx * dx + dy * dy < least) {
      least = dx * dx + dy * dy;
      best = { line: at, point };
    }
  });
  return best;
}

export function Chart(props: ChartProps) {
  const { lines, axis, isLog = false, range, onZoom, unit } = props;
  const title = visible(props.title);
  const box = useRef<HTMLDivElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const theme = useTheme();
  const [shown, setShown] = useState<Shown | null>(null);
  const [width, setWidth] = useState(0);
  const full = useMemo(() => rangeOfX(lines), [lines]);
  const x = range ? widen(range) : pad(widen(full ?? { min: 0, max: 1 }));
  const y = useMemo(() => rangeOfY(lines, x, isLog), [lines, x.min, x.max, isLog]);
  const pressedAt = useRef(0);  // x of the mouse, to distinguish a drag (zoom) from a click
  const zoom = useRef(onZoom);
  zoom.current = onZoom;

  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [full === null]);

  useLayoutEffect(() => {
    if (!box.current || full === null || width === 0) return;
    const u = makePlot(box.current, props, lines, x, y, (to) => zoom.current(to));
    plot.current = u;
    const onMove = (event: MouseEvent) => {
      const frame = u.over.getBoundingClientRect();
      setShown(findNear(u, lines, event.clientX - frame.left, event.clientY - frame.top));
    };
    const onLeave = () => setShown(null);
    const onDouble = () => zoom.current(null);
    u.over.addEventListener('mousemove', onMove);
    u.over.addEventListener('mouseleave', onLeave);
    u.over.addEventListener('dblclick', onDouble);
    return () => {
      plot.current = null;
      u.destroy();
    };
  }, [lines, x.min, x.max, y, theme, width, axis, isLog, full === null]);

  const at = shown && lines[shown.line] && shown.point < lines[shown.line]!.x.length ? shown : null;
  const near = at ? lines[at.line]! : null;
  useLayoutEffect(() => {
    const u = plot.current, element = mark.current;
    if (!u || !element || !at || !near) return;
    const left = u.xAt(near.x[at.point]!) + u.over.offsetLeft;
    // NaN, infinities and, on a logarithmic axis, numbers that are not positive have no place: only their label is shown.
    const y = u.yAt(near.y[at.point]!), hasPlace = Number.isFinite(y);
    const top = (hasPlace ? y : u.over.clientHeight / 2) + u.over.offsetTop;
    element.classList.toggle('unplaced', !hasPlace);
    element.style.left = left + 'px';
    element.style.top = top + 'px';
    element.classList.toggle('left', left > u.width / 2);
    // The label is on the side with more room, and the plot clips what does not fit into it.
    const label = element.querySelector<HTMLElement>('.label')!;
    label.style.maxWidth = Math.max(left, u.width - left) - 14 + 'px';
    element.classList.toggle('below', top < label.offsetHeight + 10);
  });

  const xText = (value: number) => (axis === 'time' ? localTime(new Date(value * 1000).toISOString()) : axis === 'seconds' ? duration(value) : 'step ' + integer(value));
  const say = at && near ? `${visible(near.label)}, ${xText(near.x[at.point]!)}: ${props.isScaled ? withUnit(near.y[at.point]!, unit ?? '') : number(near.y[at.point]!, 6) + (unit ? ' ' + unit : '')}` : '';

  const move = (by: number) => {
    const line = at?.line ?? lines.findIndex((l) => !l.isPale && l.x.length > 0);
    if (line < 0) return;
    const points = lines[line]!.x.length;
    setShown({ line, point: Math.max(0, Math.min(points - 1, (at?.point ?? (by > 0 ? -1 : points)) + by)) });
  };
  const changeLine = (by: number) => {
    const usable = lines.map((line, i) => (line.isPale || line.x.length === 0 ? -1 : i)).filter((i) => i >= 0);
    if (usable.length === 0) return;
    const now = usable.indexOf(at?.line ?? -1);
    const line = usable[(now + by + usable.length) % usable.length]!;
    setShown({ line, point: at && near ? nearestIndex(lines[line]!.x, near.x[at.point]!) : 0 });
  };
  const zoomBy = (factor: number) => {
    const middle = at && near ? near.x[at.point]! : (x.min + x.max) / 2;
    const half = (x.max - x.min) * factor / 2;
    onZoom({ min: middle - half, max: middle + half });
  };
  const keys: { [key: string]: () => void } = {
    ArrowRight: () => move(1), ArrowLeft: () => move(-1), PageDown: () => move(10), PageUp: () => move(-10),
    ArrowDown: () => changeLine(1), ArrowUp: () => changeLine(-1), Home: () => move(-1e9), End: () => move(1e9),
    '+': () => zoomBy(0.5), '-': () => zoomBy(2), '0': () => onZoom(null), Escape: () => { setShown(null); if (range) onZoom(null); },
    Enter: () => { if (near?.href) goTo(near.href); },
  };
  const named = lines.filter((line) => !line.isPale);
  const isReduced = (props.points ?? 0) > named.reduce((sum, line) => sum + line.x.length, 0);
  const missing = useMemo(() => countNotFinite(lines), [lines]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}{unit && !props.isScaled ? <span class="unit"> [{unit}]</span> : null}</span>
        {range && <button type="button" class="small" onClick={() => onZoom(null)}>whole range</button>}
      </figcaption>
      {full === null ? <p class={props.isLoading ? 'loading' : 'empty'} style={{ minHeight: (props.height ?? 240) + 'px' }}>{props.isLoading ? 'Loading …' : `No points${range ? ' in this range' : ' yet'}.`}</p> : (
        <div class="plot" ref={box} tabIndex={0} role="group" style={{ minHeight: (props.height ?? 240) + 'px' }}
          aria-label={`${title}: ${named.length} lines by ${axis}. Arrow keys move along the lines, plus and minus zoom, 0 shows all.`}
          onKeyDown={(event) => {
            const action = keys[event.key];
            if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            event.stopPropagation();
            action();
          }}
          onMouseDown={(event) => { pressedAt.current = event.clientX; }}
          onClick={(event) => { if (near?.href && Math.abs(event.clientX - pressedAt.current) < 4) goTo(near.href); }}>
          {at && near && <div class="pointer" ref={mark} style={{ color: near.color }}><span class="dot" /><span class="label">{say}</span></div>}
          <span class="unseen" role="status">{say}</span>
        </div>
      )}
      {missing > 0 && <p class="note warn" role="status">{isReduced ? 'At least ' : ''}{plural(missing, 'value is', 'values are')} NaN or infinite and {missing === 1 ? 'is' : 'are'} not drawn.</p>}
      {named.length > 1 && named.length <= 14 && (
        <ul class="legend">{named.map((line) => (
          <li><svg width="18" height="8" aria-hidden="true"><line x1="0" y1="4" x2="18" y2="4" stroke-width="2" stroke={line.color} stroke-dasharray={line.dash?.join(' ')} /></svg>
            {line.href ? <a href={line.href}>{visible(line.label)}</a> : visible(line.label)}</li>
        ))}</ul>
      )}
      {full !== null && <ChartData {...props} title={title} lines={named} />}
    </figure>
  );
}

const rowsMax = 300;

/** The points of a chart as a table and as a CSV file. */
function ChartData({ title, lines, axis, points }: ChartProps) {
  const [isOpen, setOpen] = useState(false);
  const rows = function* () {
    for (const line of lines)
      for (let i = 0; i < line.x.length; ++i)
        yield [line.label, axis === 'time' ? utcTime(new Date(line.x[i]! * 1000).toISOString()) : line.x[i]!, line.y[i]!] as [string, string | number, number];
  };
  const firstRows = () => {
    const found: [string, string | number, number][] = [];
    for (const row of rows()) {
      if (found.length === rowsMax) break;
      found.push(row);
    }
    return found;
  };
  const shown = lines.reduce((sum, line) => sum + line.x.length, 0);
  const isReduced = points !== undefined && points > shown;
  return (
    <details class="data" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Data <span class="dim">{isReduced ? `${integer(points)} points, reduced to ${integer(shown)} that look the same` : `${integer(shown)} points`}</span></summary>
      {isOpen && <>
        <button type="button" class="small" onClick={() => download(title + '.csv', 'text/csv', toCsv([['line', axis, 'value'], ...rows()]))}>CSV</button>
        <div class="scroll short" tabIndex={0} role="region" aria-label={'Data of ' + title}>
          <table><caption class="unseen">{title}</caption>
            <thead><tr><th scope="col">Line</th><th scope="col" class="number">{axis === 'time' ? 'Time (UTC)' : axis === 'seconds' ? 'Seconds' : 'Step'}</th><th scope="col" class="number">Value</th></tr></thead>
            <tbody>{firstRows().map(([label, at, value]) => <tr><td>{visible(label)}</td><td class="number">{typeof at === 'number' ? integer(at) : at}</td><td class="number">{number(value, 6)}</td></tr>)}</tbody>
          </table>
        </div>
        {shown > rowsMax && <p class="dim">The first {rowsMax} points; all are in the CSV.</p>}
      </>}
    </details>
  );
}
