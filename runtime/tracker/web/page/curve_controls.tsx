// Controls for how curves are drawn. All views with curves have the same ones. The address holds their values.
import type { Range } from './curves';
import { setQuery, type Query } from './route';
import { Check, Choice } from './ui';

export interface CurveLook { axis: 'steps' | 'time'; isLog: boolean; smoothing: number; range: Range | null }

/** Reads the values that the controls have written into the address. */
export function lookIn(query: Query): CurveLook {
  const smoothing = Number(query['smooth'] ?? 0);
  const [from, to] = (query['zoom'] ?? '').split(',').map(Number);
  const hasRange = from !== undefined && to !== undefined && Number.isFinite(from) && Number.isFinite(to) && from < to;
  return {
    axis: query['axis'] === 'time' ? 'time' : 'steps',
    isLog: query['log'] === '1',
    smoothing: smoothing >= 0 && smoothing < 1 ? smoothing : 0,
    range: hasRange ? { min: from, max: to } : null,
  };
}

export function zoomTo(range: Range | null): void {
  setQuery({ zoom: range ? `${Number(range.min.toPrecision(16))},${Number(range.max.toPrecision(16))}` : null });
}

/** The parameters of a request for the shown range of a series. The tracker takes times in microseconds. */
export function rangeParameters({ axis, range }: CurveLook): { axis: string; from?: number; to?: number } {
  if (!range) return { axis };
  const unit = axis === 'time' ? 1e6 : 1;
  return { axis, from: range.min * unit, to: range.max * unit };
}

export function CurveControls({ look }: { look: CurveLook }) {
  return (
    <>
      <Choice label="X axis" value={look.axis} onChange={(axis) => setQuery({ axis: axis === 'steps' ? null : axis, zoom: null })} options={[['steps', 'steps'], ['time', 'time']]} />
      <label class="choice"><span>Smoothing</span>
        <input type="range" min="0" max="0.99" step="0.01" value={look.smoothing} onInput={(event) => setQuery({ smooth: event.currentTarget.value === '0' ? null : event.currentTarget.value })} />
        <output>{look.smoothing.toFixed(2)}</output>
      </label>
      <Check label="log scale" isOn={look.isLog} onChange={(on) => setQuery({ log: on ? '1' : null })} />
    </>
  );
}

/** The width in pixels for requests of curves. It is a multiple of 100, so that viewers with similar windows send the same request. */
export function plotWidth(): number {
  const pixels = Math.min(2000, Math.max(300, document.documentElement.clientWidth));
  return Math.ceil(pixels / 100) * 100;
}
