// Positions on axes, for the pictures of hyperparameters. Pure.
import { number } from './format';
import type { Json } from './types';

/** An axis of numbers or of names. */
export interface Scale {
  isLog: boolean;
  /** The position of a value, from 0 to 1; null if it is not on the axis. */
  at: (value: Json | undefined) => number | null;
  ticks: { at: number; text: string }[];
}

export function linearTicks(min: number, max: number, count: number): number[] {
  const rough = (max - min) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? power * 10;
  const ticks: number[] = [];
  for (let tick = Math.ceil(min / step) * step; tick <= max + step * 1e-9; tick += step) ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  return ticks;
}

export function numberScale(values: readonly number[], isLogWanted: boolean, tickCount = 5): Scale {
  const usable = values.filter((v) => Number.isFinite(v) && (!isLogWanted || v > 0));
  let min = Math.min(...usable), max = Math.max(...usable);
  const isLog = isLogWanted && min > 0;
  if (!(min < max)) {
    const margin = usable.length === 0 ? 1 : Math.abs(min) * 0.1 || 1;
    [min, max] = usable.length === 0 ? [0, 1] : isLog ? [min / 2, min * 2] : [min - margin, min + margin];
  }
  const place = (v: number) => (isLog ? Math.log(v / min) / Math.log(max / min) : (v - min) / (max - min));
  let ticks = isLog ? linearTicks(Math.log10(min), Math.log10(max), tickCount).filter(Number.isInteger).map((e) => 10 ** e) : linearTicks(min, max, tickCount);
  if (ticks.length < 2) ticks = [min, max];
  return {
    isLog, ticks: ticks.map((tick) => ({ at: place(tick), text: number(tick, 4) })),
    at: (value) => (typeof value === 'number' && Number.isFinite(value) && (!isLog || value > 0) ? place(value) : null),
  };
}

export function nameScale(names: readonly string[]): Scale {
  const sorted = [...new Set(names)].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  const place = (index: number) => (sorted.length === 1 ? 0.5 : index / (sorted.length - 1));
  return {
    isLog: false, ticks: sorted.map((text, i) => ({ at: place(i), text })),
    at: (value) => {
      const index = sorted.indexOf(typeof value === 'string' ? value : JSON.stringify(value));
      return index < 0 ? null : place(index);
    },
  };
}

/** The scale for the values of a hyperparameter: logarithmic if they span more than two powers of ten. */
export function scaleFor(values: readonly Json[]): Scale {
  if (values.every((value) => typeof value === 'number')) {
    const numbers = values as number[];
    const min = Math.min(...numbers), max = Math.max(...numbers);
    return numberScale(numbers, min > 0 && max / min > 100);
  }
  return nameScale(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))));
}
