// Many small charts: with a search field, in groups by the prefix of their names. Each loads its data once it comes into view.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { visible } from './format';
import { setQuery, type Query } from './route';
import { Empty, Field } from './ui';

/** "train" of "train/loss", "layers.0" of "layers.0.norm"; '' of a name without a prefix. */
export function prefixOf(name: string): string {
  const slash = name.lastIndexOf('/');
  return slash > 0 ? name.slice(0, slash) : name.includes('/') ? '' : name.slice(0, Math.max(0, name.lastIndexOf('.')));
}

/** The items in groups by the prefix of their names, those without a prefix first. */
export function groupByPrefix<Item>(items: readonly Item[], nameOf: (item: Item) => string): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const prefix = prefixOf(nameOf(item));
    groups.set(prefix, [...(groups.get(prefix) ?? []), item]);
  }
  for (const [prefix, group] of groups) {
    if (prefix !== '') group.sort((a, b) => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true }));
  }
  return [...groups].sort(([a], [b]) => (a === '' ? -1 : b === '' ? 1 : a.localeCompare(b, undefined, { numeric: true })));
}

/** Draws its children once it is near the window. */
/** \param isFirst draws them at once */
function Lazy({ height, isFirst, children }: { height: number; isFirst: boolean; children: () => ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isFirst);
  useEffect(() => {
    if (!place.current || isNear) return;
    const observer = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) setNear(true); }, { rootMargin: '300px' });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isNear]);
  return <div ref={place} class="cell" style={isNear ? undefined : { minHeight: height + 'px' }}>{isNear ? children() : null}</div>;
}

const largeCharts = 4;  // so few charts are large
const firstCharts = 6;  // are not waited for

/** \param draw draws a chart of this height */
export function SmallCharts<Item>({ items, nameOf, keyOf, query, draw }: {
  items: readonly Item[]; nameOf: (item: Item) => string; keyOf: (item: Item) => string; query: Query; draw: (item: Item, height: number) => ComponentChildren;
}) {
  const words = (query['m'] ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const shown = items.filter((item) => words.every((word) => nameOf(item).toLowerCase().includes(word)));
  const isSmall = items.length > largeCharts;
  const height = isSmall ? 150 : 240;
  const groups = groupByPrefix(shown, nameOf);
  const grid = (group: readonly Item[]) => <div class={isSmall ? 'charts small' : 'charts'}>{group.map((item) => <Lazy key={keyOf(item)} height={height + 60} isFirst={items.indexOf(item) < firstCharts}>{() => draw(item, height)}</Lazy>)}</div>;
  return (
    <>
      {items.length > 1 && <div class="tools">
        <Field label="Metrics" id="search" value={query['m'] ?? ''} placeholder="part of the name" onChange={(m) => setQuery({ m })} />
        <span class="count" role="status">{shown.length === items.length ? `${items.length} charts` : `${shown.length} of ${items.length} charts`}</span>
      </div>}
      {shown.length === 0 && <Empty>No metric has such a name.</Empty>}
      {groups.map(([prefix, group]) => (groups.length === 1 && prefix === '' ? grid(group) : (
        <details class="group" key={prefix} open><summary><h2>{prefix === '' ? 'without prefix' : visible(prefix)} <span class="dim">{group.length}</span></h2></summary>{grid(group)}</details>
      )))}
    </>
  );
}
