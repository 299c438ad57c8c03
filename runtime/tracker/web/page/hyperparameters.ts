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
