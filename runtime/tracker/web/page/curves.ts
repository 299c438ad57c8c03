// Colours, smoothing and ranges of curves. Pure.

export interface Line {
  key: string;
  label: string;
  x: ArrayLike<number>;
  /** The value at each x. NaN: it is missing or not finite. */
  y: ArrayLike<number>;
  color: string;
  dash?: number[];
  width?: number;
  /** Drawn behind the others and pale, like the unsmoothed values. */
  isPale?: boolean;
  /** The address that a click opens. */
  href?: string;
}

/** Colours after Okabe and Ito, which people with any colour vision can distinguish. After the last one they repeat, with dashes. */
export const palette = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)', 'var(--c6)', 'var(--c7)'];
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

export function lookOf(index: number): { color: string; dash: number[] } {
  return { color: palette[index % palette.length]!, dash: dashes[Math.floor(index / palette.length) % dashes.length]! };
}

const shades = 8;

/** The colour of a trial among many: from pale for share 0 (the worst) to strong for share 1 (the best). */
export function shadeColor(share: number): string {
  const strength = Math.round(100 * Math.min(shades - 1, Math.floor(share * shades)) / (shades - 1));
  return `color-mix(in oklab, var(--shade-best) ${strength}%, var(--many))`;
}

/** Exponential moving average without the bias of its start. Skips values that are not finite. weight: that of the past, 0 to below 1. */
export function smooth(y: ArrayLike<number>, weight: number): Float64Array {
  const out = new Float64Array(y.length);
  let mean = 0, norm = 0;
  for (let i = 0; i < y.length; ++i) {
    const value = y[i]!;
    if (!Number.isFinite(value)) {
      out[i] = NaN;
      continue;
    }
    mean = mean * weight + (1 - weight) * value;
    norm = norm * weight + (1 - weight);
    out[i] = mean / norm;
  }
  return out;
}

export interface Range { min: number; max: number }

/** The least and the greatest x of all lines; null if there are no points. */
export function rangeOfX(lines: readonly Line[]): Range | null {
  let min = Infinity, max = -Infinity;
  for (const { x } of lines) {
    for (let i = 0; i < x.length; ++i) {
      if (x[i]! < min) min = x[i]!;
      if (x[i]! > max) max = x[i]!;
    }
  }
  return min <= max ? { min, max } : null;
}

/** The range of y of the points inside a range of x, with a margin. isLog: ignores values that are not positive. */
export function rangeOfY(lines: readonly Line[], within: Range, isLog: boolean): Range {
  let min = Infinity, max = -Infinity;
  for (const { x, y } of lines) {
    for (let i = 0; i < x.length; ++i) {
      const value = y[i]!;
      if (x[i]! < within.min || x[i]! > within.max || !Number.isFinite(value) || (isLog && value <= 0)) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  if (min > max) return isLog ? { min: 0.1, max: 10 } : { min: 0, max: 1 };
  if (isLog) return min === max ? { min: min / 2, max: max * 2 } : { min: min / 1.1, max: max * 1.1 };
  const margin = min === max ? Math.abs(min) * 0.1 || 1 : (max - min) * 0.04;
  return { min: min - margin, max: max + margin };
}

/** The index of the x that is nearest to a value. x must ascend. */
export function nearestIndex(x: ArrayLike<number>, value: number): number {
  let low = 0, high = x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - x[low - 1]! < x[low]! - value ? low - 1 : low;
}

/** Widens a range that is a single point, because a scale needs a length. */
export function widen({ min, max }: Range): Range {
  if (min < max) return { min, max };
  const margin = Math.abs(min) * 0.01 || 1;
  return { min: min - margin, max: max + margin };
}
