// The checkpoints of an experiment, and its configuration.
import { useMemo } from 'preact/hooks';
import { useData } from '../api';
import { bytes, integer, number, visible } from '../format';
import { link, setQuery, type Query } from '../route';
import { Table, type Column } from '../table';
import type { Answer, Checkpoint, ConfigOrigins, Experiment } from '../types';
import { CommandLine, Empty, Field, Loaded, Text, Time, Warnings } from '../ui';

const sizeOf = (checkpoint: Checkpoint) => Object.values(checkpoint.resources ?? {}).reduce((sum, size) => sum + size, 0);

const columns: Column<Checkpoint>[] = [
  { key: 'trial', title: 'Trial', isNumber: true, value: (c) => c.trial_id, cell: (c) => <a href={link(['trials', c.trial])}>{c.trial}</a> },
  { key: 'run', title: 'Run', isNumber: true, value: (c) => c.run },
  { key: 'steps', title: 'Step', isNumber: true, value: (c) => c.steps_completed, cell: (c) => integer(c.steps_completed) },
  { key: 'metric', title: 'Metric', isNumber: true, value: (c) => c.metric, cell: (c) => number(c.metric) },
  { key: 'size', title: 'Size', isNumber: true, value: sizeOf, cell: (c) => bytes(sizeOf(c)) },
  { key: 'state', title: 'State', value: (c) => c.state, cell: (c) => c.state.toLowerCase().replace('_', ' ') },
  { key: 'time', title: 'Saved', value: (c) => c.time, cell: (c) => <Time utc={c.time} /> },
  { key: 'uuid', title: 'Download', isWhole: true, value: (c) => c.uuid, cell: (c) => (c.state === 'DELETED' ? <span class="dim"><Text>{c.uuid}</Text></span> : <CommandLine text={`det-submit checkpoint download ${c.uuid}`} />) },
];

export function ExperimentCheckpoints({ experiment, query }: { experiment: Experiment; query: Query }) {
  const data = useData<Answer<Checkpoint[]>>(`experiments/${experiment.id}/checkpoints`);
  return (
    <Loaded data={data} what="checkpoints">{({ answer, warnings }) => (
      <section aria-label="Checkpoints">
        <Warnings text={warnings} />
        {answer.length === 0
          ? <Empty>No trial has saved a checkpoint yet.</Empty>
          : <Table caption="Checkpoints" rows={answer} columns={columns} rowKey={(c) => c.uuid} sort={query['sort'] ?? ''} onSort={(sort) => setQuery({ sort })} csvName={`experiment-${experiment.id}-checkpoints`} />}
      </section>
    )}</Loaded>
  );
}

/** Splits a line of the configuration into the line and the comment at its end, which names the origin of the value. */
function splitOrigin(line: string): [string, string] {
  const at = line.lastIndexOf('  # ');
  const short = at < 0 ? line.lastIndexOf(' # ') : at;
  return short < 0 ? [line, ''] : [line.slice(0, short), line.slice(short).replace(/^\s*#\s*/, '')];
}

export function ExperimentConfig({ experiment, query }: { experiment: Experiment; query: Query }) {
  const data = useData<ConfigOrigins>(`experiments/${experiment.id}/config`);
  const words = (query['find'] ?? '').toLowerCase();
  return (
    <Loaded data={data} what="the configuration">{({ text }) => <ConfigLines text={text} words={words} id={experiment.id} />}</Loaded>
  );
}

function ConfigLines({ text, words, id }: { text: string; words: string; id: number }) {
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n').map(splitOrigin), [text]);
  const shown = words ? lines.filter(([line, origin]) => (line + ' ' + origin).toLowerCase().includes(words)) : lines;
  const isOwn = (origin: string) => origin !== '' && origin !== 'default';
  return (
    <section aria-label="Configuration">
      <div class="tools">
        <Field label="Find" id="search" value={words} onChange={(find) => setQuery({ find })} />
        <span class="dim">Values that are not defaults are bold, with the file and line they come from.</span>
      </div>
      {shown.length === 0 ? <Empty>No line has “{words}”.</Empty> : (
        <div class="scroll config" tabIndex={0} role="region" aria-label="Effective configuration">
          <table><caption class="unseen">Effective configuration</caption>
            <thead><tr><th scope="col">Value</th><th scope="col">Origin</th></tr></thead>
            <tbody>{shown.map(([line, origin]) => <tr class={isOwn(origin) ? 'own' : undefined}><td><code>{visible(line)}</code></td><td class="dim"><code>{visible(origin)}</code></td></tr>)}</tbody>
          </table>
        </div>
      )}
      <p><CommandLine text={`det-submit experiment config ${id}`} /></p>
    </section>
  );
}
