// Numbers, times and sizes as text.
import type { Json, WireNumber } from './types';

export function toNumber(value: WireNumber | undefined): number | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' ? value : Number(value);
}

/** The values of a curve; NaN where there is none. A loop: Float64Array.from() with a function takes ten times as long. */
export function toNumbers(values: readonly (WireNumber | undefined)[]): Float64Array {
  const numbers = new Float64Array(values.length);
  for (let i = 0; i < values.length; ++i) {
    const value = values[i];
    numbers[i] = typeof value === 'number' ? value : toNumber(value) ?? NaN;
  }
  return numbers;
}

/** A number with so many significant digits, without zeros at its end. Integers below a milliard have all their digits. */
export function number(value: number | null | undefined, digits = 5): string {
  if (value === null || value === undefined) return '';
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return integer(value);
  if (size >= 1e7 || size < 1e-4) {
    return value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e').replace(/-/g, '−');
  }
  const text = value.toPrecision(digits);
  return (text.includes('.') ? text.replace(/\.?0+$/, '') : text).replace('-', '−');
}

/** A rounded number with thin spaces between groups of digits: "12 345". */
export function integer(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f').replace('-', '−');
}

const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];

/** A number with a decimal prefix: "1.23 M" for 1234567. */
export function scaled(value: number, unit = ''): string {
  let size = value, at = 0;
  while (Math.abs(size) >= 1000 && at + 1 < prefixes.length) {
    size /= 1000;
    ++at;
  }
  return (number(size, 3) + ' ' + prefixes[at] + unit).trim();
}

/** A number with its unit, and with k, M or G where that is usual: "82 %", "1.25 GB/s", "410 GB". */
export function withUnit(value: number, unit: string): string {
  if (unit === '' || unit === '%') return number(value, 3) + (unit === '' ? '' : ' ' + unit);
  const [whole, factor, name] = unit === 'GB' ? [value, 1e9, 'B'] : unit.startsWith('bytes') ? [value, 1, 'B' + unit.slice(5)] : [value, 1, unit];
  return scaled(whole * factor, name);
}

export function bytes(value: number): string {
  let size = value, at = 0;
  while (size >= 1024 && at + 1 < prefixes.length) {
    size /= 1024;
    ++at;
  }
  return number(size, 3) + ' ' + (at === 0 ? 'B' : prefixes[at]!.toUpperCase() + 'iB');
}

export function percent(share: number, digits = 0): string {
  return (share * 100).toFixed(digits) + ' %';
}

/** A duration in two units at most: "2 d 3 h", "1 h 02 min", "3 min 05 s", "4.2 s". */
export function duration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '';
  const s = Math.max(0, seconds);
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  if (s < 10) return s.toFixed(1) + ' s';
  if (s < 60) return Math.floor(s) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + two(s % 60) + ' s';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + two((s % 3600) / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor((s % 86400) / 3600) + ' h';
}

export function secondsBetween(begin: string | null | undefined, end: string | null | undefined): number | null {
  if (!begin) return null;
  return ((end ? Date.parse(end) : Date.now()) - Date.parse(begin)) / 1000;
}

const sameYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const otherYear = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const exact = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' });

/** A time in the viewer's time zone, with the year if it is not the present one. */
export function localTime(utc: string): string {
  const time = new Date(utc);
  if (Number.isNaN(time.getTime())) return utc;
  return (time.getFullYear() === new Date().getFullYear() ? sameYear : otherYear).format(time);
}
export function localClock(utc: string): string {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? '' : exact.format(time);
}
/** "2026-11-24 22:01:16 UTC" */
export function utcTime(utc: string): string {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? utc : time.toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}

/** Nested values by their path: {a: {b: 1}} is [["a.b", 1]]. Lists are values. */
export function flatten(value: Json | undefined, path = ''): [string, Json][] {
  if (value === null || value === undefined || typeof value !== 'object' || Array.isArray(value)) {
    return path === '' ? [] : [[path, value ?? null]];
  }
  const entries = Object.entries(value);
  if (entries.length === 0 && path !== '') return [[path, value]];
  return entries.flatMap(([name, inner]) => flatten(inner, path === '' ? name : path + '.' + name));
}

/** A value on one line: text without quotes, fractions with six digits, other values as JSON. */
export function valueText(value: Json | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : number(value, 6);
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}

/** Replaces control characters, which could change how other text looks, by visible characters. Keeps tab and newline. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
  });
}

/** Rows as comma-separated values (RFC 4180). */
export function toCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => row.map((cell) => {
    // Spreadsheets would run a text that begins like a formula.
    const text = typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? "'" + cell : String(cell ?? '');
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }).join(',')).join('\r\n') + '\r\n';
}

export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name.replace(/[^\w.-]+/g, '_');
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function plural(count: number, one: string, many = one + 's'): string {
  return integer(count) + ' ' + (count === 1 ? one : many);
}
