// A table whose rows can be sorted and selected. It draws only the rows in view.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isForField } from './ui';
import { download, toCsv, visible } from './format';

export interface Column<Row> {
  key: string;
  title: string;
  /** The value for sorting and for CSV. Rows with null or '' come last. */
  value: (row: Row) => string | number | null;
  cell?: (row: Row) => ComponentChildren;
  isNumber?: boolean;
  /** The first click shows the highest values first. */
  isDescendingFirst?: boolean;
  /** The text is never cut off. */
  isWhole?: boolean;
}

export interface TableProps<Row> {
  caption: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** The key of a column, with "-" in front for the highest value first; '' keeps the order of the rows. */
  sort?: string;
  onSort?: (sort: string) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (key: string) => void;
  /** The name of the CSV file, without ".csv". undefined: there is no button for it. */
  csvName?: string;
  /** The CSS class of a row, such as 'best' or 'own'; '' for none. */
  rowClass?: (row: Row) => string;
  maxHeight?: string;
}

const longText = 20;  // a cell of a longer text may cut it off, and has it as its title

function titleOf(value: string | number | null): string | undefined {
  return typeof value === 'string' && value.length > longText ? visible(value) : undefined;
}

const rowHeight = 29;
const spare = 12;  // rows that are drawn before and after the visible ones

export function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): readonly Row[] {
  const column = columns.find((candidate) => candidate.key === sort.replace(/^-/, ''));
  if (!column) return rows;
  const sign = sort.startsWith('-') ? -1 : 1;
  const keyed = rows.map((row): [string | number | null, Row] => [column.value(row), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null || a === '' || b === '') return Number(a === null || a === '') - Number(b === null || b === '');
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
  });
  return keyed.map(([, row]) => row);
}

/** A button that saves rows as a CSV file. A click calls `rows`. */
export function CsvButton({ name, rows }: { name: string; rows: () => readonly (readonly (string | number | null | undefined)[])[] }) {
  return <button type="button" class="small csv" onClick={() => download(name + '.csv', 'text/csv', toCsv(rows().map((row) => row.map((cell) => cell ?? null))))}>CSV</button>;
}

export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, rowKey, sort = '', onSort, selected, onSelect, caption } = props;
  const sorted = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort]);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  const wanted = useRef<number | null>(null);
  const isLong = sorted.length > 150;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !isLong) return;
    const update = () => setView((old) => {
      const top = Math.floor(element.scrollTop / rowHeight);
      const height = element.clientHeight;
      return old.top === top && old.height === height ? old : { top, height };
    });
    update();
    element.addEventListener('scroll', update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', update);
      observer.disconnect();
    };
  }, [isLong]);

  const first = isLong ? Math.max(0, Math.min(view.top, sorted.length) - spare) : 0;
  const last = isLong ? Math.min(sorted.length, view.top + Math.ceil(view.height / rowHeight) + spare) : sorted.length;

  /** Moves the focus to a row. If the row is not drawn yet, scrolls to it, and a later call moves the focus. */
  const focusRow = (index: number) => {
    const element = box.current;
    const target = Math.max(0, Math.min(sorted.length - 1, index));
    const row = element?.querySelector<HTMLElement>(`tr[data-row="${target}"]`);
    if (row) {
      row.querySelector<HTMLElement>('a, button')?.focus({ preventScroll: true });
      row.scrollIntoView({ block: 'nearest' });
      wanted.current = null;
    } else if (element) {
      wanted.current = target;
      element.scrollTop = Math.max(0, target * rowHeight - element.clientHeight / 2);
    }
  };
  useEffect(() => {
    if (wanted.current !== null && wanted.current >= first && wanted.current < last) focusRow(wanted.current);
  });
  useLayoutEffect(() => {
    if (!onSort) return;  // only tables that can be sorted have keys
    const onKey = (event: KeyboardEvent) => {
      if (isForField(event)) return;
      const focused = box.current?.querySelector<HTMLElement>('tr:focus-within')?.dataset['row'];
      const at = focused === undefined ? -1 : Number(focused);
      if (event.key === 'j') focusRow(at + 1);
      else if (event.key === 'k') focusRow(Math.max(0, at - 1));
      else if (event.key === 'x' && onSelect && at >= 0 && sorted[at]) onSelect(rowKey(sorted[at]!));
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });

  const sortKey = sort.replace(/^-/, '');
  const head = (column: Column<Row>) => {
    const order = column.key !== sortKey ? undefined : sort.startsWith('-') ? 'descending' : 'ascending';
    const orders = column.isDescendingFirst ? ['-' + column.key, column.key] : [column.key, '-' + column.key];
    const next = order === undefined ? orders[0]! : sort === orders[0] ? orders[1]! : '';
    return (
      <th scope="col" class={column.isNumber ? 'number' : undefined} aria-sort={order} title={titleOf(column.title)}>
        {onSort ? <button type="button" onClick={() => onSort(next)}>{visible(column.title)}<span class="arrow" aria-hidden="true">{order === 'ascending' ? '▲' : order === 'descending' ? '▼' : ''}</span></button> : visible(column.title)}
      </th>
    );
  };
  return (
    <div class="table">
      <div class={'scroll' + (isLong ? ' long' : '')} ref={box} tabIndex={0} role="region" aria-label={`Table: ${caption}`} style={isLong ? { maxHeight: props.maxHeight ?? '70vh' } : undefined}>
        <table aria-rowcount={sorted.length + 1}>
          <caption class="unseen">{caption}</caption>
          <thead><tr>
            {onSelect && <th scope="col" class="select"><span class="unseen">Selected</span></th>}
            {columns.map(head)}
          </tr></thead>
          <tbody>
            {first > 0 && <tr class="space" aria-hidden="true" style={{ height: first * rowHeight + 'px' }}><td colSpan={columns.length + 1} /></tr>}
            {sorted.slice(first, last).map((row, i) => {
              const key = rowKey(row);
              return (
                <tr key={key} data-row={first + i} aria-rowindex={first + i + 2} class={props.rowClass?.(row) || undefined}>
                  {onSelect && <td class="select"><input type="checkbox" aria-label={'Select ' + key} checked={selected?.has(key) ?? false} onChange={() => onSelect(key)} /></td>}
                  {columns.map((column) => <td class={column.isNumber ? 'number' : column.isWhole ? 'whole' : undefined} title={titleOf(column.value(row))}>{column.cell ? column.cell(row) : visible(String(column.value(row) ?? ''))}</td>)}
                </tr>
              );
            })}
            {last < sorted.length && <tr class="space" aria-hidden="true" style={{ height: (sorted.length - last) * rowHeight + 'px' }}><td colSpan={columns.length + 1} /></tr>}
          </tbody>
        </table>
      </div>
      {props.csvName && sorted.length > 0 && <CsvButton name={props.csvName} rows={() => [columns.map((column) => column.title), ...sorted.map((row) => columns.map((column) => column.value(row)))]} />}
    </div>
  );
}
