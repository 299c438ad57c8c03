// Shows how the metric depends on the hyperparameters: parallel coordinates with brushes, and a scatter plot.
import { useMemo, useRef, useState } from 'preact/hooks';
import { useData } from '../api';
import { shadeColor } from '../curves';
import { number, percent, plural, valueText, visible } from '../format';
import { differingPaths, flatValues, importanceOf } from '../hyperparameters';
import { goTo, link, setQuery, type Query } from '../route';
import { CsvButton } from '../table';
import { numberScale, scaleFor, type Scale } from '../scales';
import type { Answer, Experiment, Json, TrialRow } from '../types';
import { Choice, Empty, Loaded, Progress, ShadeLegend, Text, useWidth } from '../ui';
import { searcherOf } from './experiment';
import { bestOf } from './experiment_curves';

interface Axis { name: string; scale: Scale; value: (row: TrialRow) => Json | undefined; importance?: number | null }
/** The selected part of each axis, from 0 to 1. A trial is selected if its values are in the parts of all axes. */
type Brushes = { [axis: string]: [number, number] };

const axesMax = 12;

function axesOf(rows: readonly TrialRow[], metric: string): Axis[] {
  const values = new Map(rows.map((row) => [row.name, flatValues(row.hyperparameters)]));
  const paths = differingPaths([...values.values()].map((map) => new Map([...map].map(([path, value]) => [path, valueText(value)])))).slice(0, axesMax);
  const axes = paths.map((name): Axis => {
    const value = (row: TrialRow) => values.get(row.name)?.get(name);
    return { name, value, scale: scaleFor(rows.map(value).filter((v): v is Json => v !== undefined)), importance: importanceOf(rows.map(value), rows.map((row) => row.best_validation?.value ?? NaN)) };
  });
  const best = rows.map((row) => row.best_validation?.value).filter((v): v is number => v !== undefined);
  const min = Math.min(...best), max = Math.max(...best);
  return [...axes, { name: metric, value: (row) => row.best_validation?.value ?? null, scale: numberScale(best, min > 0 && max / min > 100) }];
}

function brushesIn(query: Query): Brushes {
  const brushes: Brushes = {};
  for (const part of (query['brush'] ?? '').split(';').filter(Boolean)) {
    const [name, from, to] = part.split('~');
    const range: [number, number] = [Number(from), Number(to)];
    if (name && range.every(Number.isFinite)) brushes[decodeURIComponent(name)] = range;
  }
  return brushes;
}

function setBrush(brushes: Brushes, name: string, range: [number, number] | null): void {
  const { [name]: _, ...others } = brushes;
  const all = range ? { ...others, [name]: range } : others;
  setQuery({ brush: Object.entries(all).map(([axis, [from, to]]) => `${encodeURIComponent(axis)}~${from.toFixed(3)}~${to.toFixed(3)}`).join(';') });
}

export function ExperimentHyperparameters({ experiment, query }: { experiment: Experiment; query: Query }) {
  const data = useData<Answer<TrialRow[]>>(`experiments/${experiment.id}/trials`);
  return <Loaded data={data} what="trials">{({ answer }) => <Pictures experiment={experiment} all={answer} query={query} />}</Loaded>;
}

function Pictures({ experiment, all, query }: { experiment: Experiment; all: TrialRow[]; query: Query }) {
  const { metric, isSmallerBetter } = searcherOf(experiment.config);
  const rows = useMemo(() => all.filter((row) => row.best_validation && Number.isFinite(row.best_validation.value)), [all]);
  const axes = useMemo(() => axesOf(rows, metric), [rows, metric]);
  if (axes.length < 2) return <Empty>Hyperparameters are compared once at least two trials with different ones have a validation of <code>{metric}</code>.</Empty>;
  const best = bestOf(rows, isSmallerBetter);
  const brushes = brushesIn(query);
  const isIn = (row: TrialRow) => axes.every((axis) => {
    const brush = brushes[axis.name];
    const at = axis.scale.at(axis.value(row));
    return !brush || (at !== null && at >= brush[0] && at <= brush[1]);
  });
  const inside = rows.filter(isIn);
  return (
    <section aria-label="Hyperparameters">
      <p class="dim" role="status">{inside.length === rows.length ? plural(rows.length, 'trial') : `${inside.length} of ${plural(rows.length, 'trial')}`} with a validation; drag along an axis to choose a part of it.{' '}
        {Object.keys(brushes).length > 0 && <button type="button" class="small" onClick={() => setQuery({ brush: null })}>all of all axes</button>}</p>
      <Importance axes={axes} metric={metric} trials={rows.length} />
      <Parallel axes={axes} rows={rows} isIn={isIn} brushes={brushes} isSmallerBetter={isSmallerBetter} best={best} />
      <ShadeLegend best={best} words={` by ${metric}`} />
      <p class="tools"><CsvButton name={`experiment-${experiment.id}-hyperparameters`} rows={() => [['trial', ...axes.map(({ name }) => name)], ...inside.map((row) => [row.name, ...axes.map((axis) => valueText(axis.value(row)))])]} />
        <a href={link(['experiments', experiment.id], { tab: 'trials' })}>the same as a table</a></p>
      <BrushFields axes={axes} brushes={brushes} />
      <Scatter axes={axes} rows={inside} query={query} best={best} isSmallerBetter={isSmallerBetter} />
    </section>
  );
}

/** Bars: how much each hyperparameter explains. */
function Importance({ axes, metric, trials }: { axes: Axis[]; metric: string; trials: number }) {
  const known = axes.filter((axis) => typeof axis.importance === 'number').sort((a, b) => b.importance! - a.importance!);
  if (known.length === 0) return null;
  return (
    <figure class="importance">
      <figcaption><span class="title">Importance</span> <span class="dim">share of the variance of the ranks of <Text>{metric}</Text> that one hyperparameter explains alone (ε², numbers in up to five ranges); of {plural(trials, 'trial')}{trials < 30 ? ', which are few' : ''}</span></figcaption>
      <table class="narrow"><caption class="unseen">Importance of the hyperparameters</caption>
        <tbody>{known.map((axis) => <tr><th scope="row"><Text>{axis.name}</Text></th><td><Progress share={axis.importance!} /></td></tr>)}</tbody>
      </table>
    </figure>
  );
}

const shades = 8;

/** The shade of a trial: from 0 (the worst) to shades - 1. */
function shadeOf(axis: Axis, row: TrialRow, isSmallerBetter: boolean): number {
  const at = axis.scale.at(axis.value(row)) ?? 0;
  return Math.min(shades - 1, Math.floor((isSmallerBetter ? 1 - at : at) * shades));
}

function Parallel({ axes, rows, isIn, brushes, isSmallerBetter, best }: {
  axes: Axis[]; rows: TrialRow[]; isIn: (row: TrialRow) => boolean; brushes: Brushes; isSmallerBetter: boolean; best: string | null;
}) {
  const box = useRef<SVGSVGElement>(null);
  const [frame, available] = useWidth<HTMLDivElement>();
  const [drag, setDrag] = useState<{ axis: string; from: number; to: number } | null>(null);
  const left = 70, right = 70, top = 24, height = 280;
  const gap = Math.max(110, (available - left - right) / (axes.length - 1));
  const width = (axes.length - 1) * gap + left + right;
  const x = (index: number) => left + index * gap;
  const y = (at: number) => top + (1 - at) * height;
  const pathOf = (row: TrialRow) => axes.map((axis, i): string => {
    const at = axis.scale.at(axis.value(row));
    return at === null ? '' : `${i === 0 ? 'M' : 'L'}${x(i)} ${y(at).toFixed(1)}`;
  }).join('').replace(/^L/, 'M');
  const last = axes[axes.length - 1]!;
  const paths = useMemo(() => {
    const drawn: string[] = Array.from({ length: shades }, () => '');
    let outside = '';
    for (const row of rows) {
      if (isIn(row)) drawn[shadeOf(last, row, isSmallerBetter)] += pathOf(row);
      else outside += pathOf(row);
    }
    return { drawn, outside };
  }, [rows, axes, gap, JSON.stringify(brushes)]);
  const bestRow = rows.find((row) => row.name === best && isIn(row));
  const position = (event: PointerEvent) => {
    const frame = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, 1 - ((event.clientY - frame.top) * ((height + top + 30) / frame.height) - top) / height));
  };
  const end = () => {
    if (!drag) return;
    const range: [number, number] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    setBrush(brushes, drag.axis, range[1] - range[0] < 0.01 ? null : range);
    setDrag(null);
  };
  return (
    <div class="scroll picture" ref={frame} tabIndex={0} role="region" aria-label="Parallel coordinates">
      <svg ref={box} class="parallel" width={width} height={height + top + 30} role="img" aria-label={`A line for each of ${rows.length} trials through its hyperparameters to ${last.name}. The table of trials has the same values.`}
        onPointerUp={end} onPointerLeave={end}
        onPointerMove={(event) => { if (drag) setDrag({ ...drag, to: position(event) }); }}>
        <path class="outside" d={paths.outside} />
        {paths.drawn.map((d, shade) => <path d={d} style={{ stroke: shadeColor(shade / (shades - 1)) }} />)}
        {bestRow && <path class="best" d={pathOf(bestRow)} />}
        {axes.map((axis, i) => {
          const brush = drag?.axis === axis.name ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] as const : brushes[axis.name];
          return (
            <g class="axis" transform={`translate(${x(i)} 0)`} onPointerDown={(event) => setDrag({ axis: axis.name, from: position(event), to: position(event) })}>
              <rect class="catch" x="-18" y={top} width="36" height={height} />
              <line y1={top} y2={top + height} />
              {axis.scale.ticks.map((tick) => <g transform={`translate(0 ${y(tick.at)})`}><line x2="-4" /><text x="-7" dy="0.32em" text-anchor="end">{visible(tick.text.slice(0, 12))}</text></g>)}
              <text class="name" y={top - 10} text-anchor="middle">{visible(axis.name.length > 22 ? axis.name.slice(0, 21) + '…' : axis.name)}<title>{visible(axis.name)}</title></text>
              {typeof axis.importance === 'number' && <text y={top + height + 20} text-anchor="middle">{percent(axis.importance)}<title>importance</title></text>}
              {brush && <rect class="brush" x="-7" y={y(brush[1])} width="14" height={Math.max(1, (brush[1] - brush[0]) * height)} />}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The brushes as fields, in percent of each axis, for viewers who do not use a mouse. */
function BrushFields({ axes, brushes }: { axes: Axis[]; brushes: Brushes }) {
  return (
    <details class="data"><summary>Parts of the axes</summary>
      <div class="tools">{axes.map((axis) => {
        const [from, to] = brushes[axis.name] ?? [0, 1];
        const field = (which: 0 | 1, value: number) => (
          <input type="number" min="0" max="100" value={Math.round(value * 100)} aria-label={`${axis.name}, ${which === 0 ? 'lowest' : 'highest'} percent of the axis`}
            onChange={(event) => {
              const share = Math.min(1, Math.max(0, Number(event.currentTarget.value) / 100));
              setBrush(brushes, axis.name, which === 0 ? [share, to] : [from, share]);
            }} />
        );
        return <span class="choice"><span>{visible(axis.name)}</span>{field(0, from)} to {field(1, to)} %</span>;
      })}</div>
    </details>
  );
}

function Scatter({ axes, rows, query, best, isSmallerBetter }: { axes: Axis[]; rows: TrialRow[]; query: Query; best: string | null; isSmallerBetter: boolean }) {
  const metric = axes[axes.length - 1]!;
  const choices = axes.slice(0, -1);
  const axis = choices.find(({ name }) => name === query['x']) ?? choices[0]!;
  const [frame, available] = useWidth<HTMLDivElement>();
  const width = Math.max(320, available), height = 320, left = 64, bottom = 40, top = 10, right = 16;
  const x = (at: number) => left + at * (width - left - right);
  const y = (at: number) => top + (1 - at) * (height - top - bottom);
  const isNames = axis.scale.ticks.every(({ text }) => Number.isNaN(Number(text.replace('−', '-').replace(/\u202f/g, ''))));
  return (
    <>
      <div class="tools"><Choice label={metric.name + ' against'} value={axis.name} onChange={(name) => setQuery({ x: name })} options={choices.map(({ name }) => [name, name])} /></div>
      <div class="scroll picture" ref={frame} tabIndex={0} role="region" aria-label="Scatter plot">
        <svg class="scatter" width={width} height={height} role="img" aria-label={`${metric.name} of ${rows.length} trials against ${axis.name}`}>
          {metric.scale.ticks.map((tick) => <g transform={`translate(0 ${y(tick.at)})`}><line class="grid" x1={left} x2={width - right} /><text x={left - 6} dy="0.32em" text-anchor="end">{tick.text}</text></g>)}
          {axis.scale.ticks.map((tick, i) => <g transform={`translate(${x(tick.at)} ${height - bottom})`}><line class="grid" y2={-(height - top - bottom)} /><text y="15" text-anchor={isNames && i === 0 ? 'start' : isNames && i === axis.scale.ticks.length - 1 ? 'end' : 'middle'}>{visible(tick.text.slice(0, 14))}</text></g>)}
          <text class="name" x={(left + width) / 2} y={height - 6} text-anchor="middle">{visible(axis.name)}</text>
          {rows.map((row) => {
            const at = [axis.scale.at(axis.value(row)), metric.scale.at(metric.value(row))] as const;
            if (at[0] === null || at[1] === null) return null;
            return <circle class={row.name === best ? 'best' : undefined} style={{ fill: row.name === best ? undefined : shadeColor(shadeOf(metric, row, isSmallerBetter) / (shades - 1)) }} cx={x(at[0])} cy={y(at[1])} r="4" onClick={() => goTo(link(['trials', row.name]))}><title>{`trial ${row.name}: ${valueText(axis.value(row))}, ${metric.name} ${number(row.best_validation?.value ?? null)}`}</title></circle>;
          })}
        </svg>
      </div>
    </>
  );
}

