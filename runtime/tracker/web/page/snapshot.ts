// The page as one file without a server: the file contains the tracker's answers (det-submit experiment export --html).
import type { Curve, ExperimentSeries, Json, Series } from './types';

export interface Snapshot { made: string; experiment: number; answers: { [address: string]: Json } }

function read(): Snapshot | null {
  const element = document.getElementById('snapshot');
  return element ? JSON.parse(element.textContent ?? '') as Snapshot : null;
}

/** The data of the file; null if a tracker serves the page. */
export const snapshot = read();

/** Encodes all characters but letters, digits and "-._~", as the program that made the file does. */
function encode(text: unknown): string {
  return encodeURIComponent(String(text)).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
}

/** The answer to a request; undefined if the file has none. Ignores ranges and widths: the file has one answer for all of them. */
export function answerIn({ answers }: Snapshot, path: string, parameters: { readonly [name: string]: unknown }): unknown {
  const found = answers[path];
  if (found !== undefined) return found;
  const { group, metric, axis = 'steps' } = parameters;
  const ofTrial = /^trials\/(\d+)\.\d+\/series$/.exec(path);
  const name = `group=${encode(group)}&metric=${encode(metric)}&axis=${String(axis)}`;
  if (!ofTrial) return answers[`${path}?${name}`];
  const all = (at: string) => answers[`experiments/${ofTrial[1]}/series?${name.replace(/axis=.*/, 'axis=' + at)}`] as unknown as ExperimentSeries | undefined;
  const trial = path.split('/')[1];
  const curve = all(String(axis))?.trials.find((candidate) => candidate.trial === trial);
  if (!curve) return undefined;
  const own: Curve = { run: null, points: curve.points, steps: axis === 'steps' ? curve.x : [], times_us: axis === 'time' ? curve.x : [], values: curve.values };
  return { group, metric, curves: [own] } as Series;
}
