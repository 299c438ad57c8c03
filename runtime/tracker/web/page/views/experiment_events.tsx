// What users did to an experiment, and when.
import { useData } from '../api';
import { valueText } from '../format';
import type { Experiment, ExperimentEvent } from '../types';
import { Empty, Loaded, Text, Time } from '../ui';

const words: { [kind: string]: string } = {
  created: 'created', paused: 'paused', activated: 'activated', canceled: 'cancelled', killed: 'killed', 'trial-killed': 'trial killed', moved: 'moved in the queue', archived: 'archived',
  unarchived: 'unarchived', renamed: 'renamed', described: 'description changed', noted: 'notes changed', labelled: 'label added', unlabelled: 'label removed', continued: 'continued',
  resubmitted: 'trials queued again', limited: 'limit of slots changed', 'trials-limited': 'limit of trials changed',
};
const shownParts = ['trial', 'move', 'name', 'description', 'label', 'max_slots', 'max_concurrent_trials', 'revision'];

export function ExperimentEvents({ experiment }: { experiment: Experiment }) {
  const data = useData<{ events: ExperimentEvent[] }>(`experiments/${experiment.id}/events`);
  return <Loaded data={data} what="the history">{({ events }) => (events.length === 0 ? <Empty>Nothing is recorded yet.</Empty> : (
    <section aria-label="History">
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of the history">
        <table><caption class="unseen">History</caption>
          <thead><tr><th scope="col">Time</th><th scope="col">What</th><th scope="col">By</th><th scope="col">Details</th></tr></thead>
          <tbody>{[...events].reverse().map((event) => (
            <tr><td><Time utc={event.time} /></td><td>{words[event.kind] ?? <Text>{event.kind}</Text>}</td><td><Text>{event.by}</Text></td>
              <td class="wrap"><Text>{shownParts.filter((part) => event.body?.[part] !== undefined).map((part) => valueText(event.body[part])).join(', ')}</Text></td></tr>
          ))}</tbody>
        </table>
      </div>
    </section>
  ))}</Loaded>;
}
