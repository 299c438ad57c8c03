// Hyperparameters as columns. Pure.
import { flatten, number, valueText } from './format';
import type { Json, JsonObject } from './types';

/** Describes a hyperparameter of a configuration: its value, or the range or list from which it is drawn: "1e−4 … 0.1 (log)". */
export function describeHyperparameter(value: Json): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return valueText(value);
  const { type } = value;
  if (type === 'const') return valueText(value['val']);
  if (type === 'categorical' && Array.isArray(value['vals'])) return value['vals'].map((v) => valueText(v)).join(' | ');
  if (type === 'int' || type === 'double') return `${valueText(value['minval'])} … ${valueText(value['maxval'])}`;
  if (type === 'log') {
    const base = typeof value['base'] === 'number' ? value['base'] : 10;
    const bound = (exponent: Json | undefined) => (typeof exponent === 'number' ? number(base ** exponent, 3) : valueText(exponent));
    return `${bound(value['minval'])} … ${bound(value['maxval'])} (log)`;
  }
  return valueText(value);
}

/** The paths and descriptions of the hyperparameters of a configuration. */
export function describeHyperparameters(value: JsonObject | undefined, path = ''): [string, string][] {
  return Object.entries(value ?? {}).flatMap(([name, inner]): [string, string][] => {
    const full = path === '' ? name : path + '.' + name;
    const isNested = inner !== null && typeof inner === 'object' && !Array.isArray(inner) && typeof inner['type'] !== 'string';
    return isNested ? describeHyperparameters(inner as JsonObject, full) : [[full, describeHyperparameter(inner)]];
  });
}

/** The paths whose values differ between the maps, in the order in which they are found. */
export function differingPaths(maps: readonly ReadonlyMap<string, string>[]): string[] {
  const paths = new Set(maps.flatMap((map) => [...map.keys()]));
  return [...paths].filter((path) => {
    const first = maps[0]?.get(path);
    return maps.some((map) => map.get(path) !== first);
  });
}

export function flatValues(value: JsonObject | undefined): Map<string, Json> {
  return new Map(flatten(value));
}

/** The ranks of numbers, from 0; equal numbers share the mean of their ranks. */
function ranksOf(numbers: readonly number[]): number[] {
  const order = numbers.map((_, i) => i).sort((a, b) => numbers[a]! - numbers[b]!);
  const ranks = new Array<number>(numbers.length).fill(0);
  for (let from = 0; from < order.length;) {
    let to = from;
    while (to < order.length && numbers[order[to]!] === numbers[order[from]!]) ++to;
    for (let i = from; i < to; ++i) ranks[order[i]!] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}

const trialsMin = 8, groupsMax = 5, trialsInGroup = 3;

/**
 * The importance of a hyperparameter: the share of the variance of the metric's ranks that it explains alone, from 0 to 1
 * (epsilon squared, which does not grow with the number of groups by chance). Its values are divided into groups: equal values,
 * or if these are too many numbers, up to five ranges with equally many trials. null for less than eight trials, or if all
 * values are equal or all different names.
 */
export function importanceOf(values: readonly (Json | undefined)[], metrics: readonly number[]): number | null {
  const count = values.length;
  if (count < trialsMin) return null;
  const groupsAllowed = Math.min(groupsMax, Math.floor(count / trialsInGroup));
  const distinct = new Set(values.map((value) => JSON.stringify(value) ?? ''));
  let groupOf = (i: number) => JSON.stringify(values[i]) ?? '';
  if (distinct.size > groupsAllowed && values.every((value) => typeof value === 'number')) {
    const ranks = ranksOf(values as number[]);
    groupOf = (i) => String(Math.floor(ranks[i]! * groupsAllowed / count));
  }
  const ranks = ranksOf(metrics);
  const groups = new Map<string, number[]>();
  ranks.forEach((rank, i) => groups.set(groupOf(i), [...(groups.get(groupOf(i)) ?? []), rank]));
  if (groups.size < 2 || groups.size > count / 2) return null;
  const mean = (count - 1) / 2;
  const all = ranks.reduce((sum, rank) => sum + (rank - mean) ** 2, 0);
  if (all === 0) return null;
  let within = 0;
  for (const group of groups.values()) {
    const own = group.reduce((sum, rank) => sum + rank, 0) / group.length;
    within += group.reduce((sum, rank) => sum + (rank - own) ** 2, 0);
  }
  return Math.min(1, Math.max(0, 1 - (within / (count - groups.size)) / (all / (count - 1))));
}
