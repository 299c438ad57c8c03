// Tests the views of the queue and of the pools with a real Slurm: jobs of two users, a node that is drained, a job that waits.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SlurmSite, waitUntil } from './slurm_site.mjs';
import { build, findAccessibilityProblems, openPage, startBrowser } from './support.mjs';

const site = new SlurmSite();
const pictures = process.env.DET_SCREENSHOTS;
let browser, directory;

const config = (name) => `name: ${name}
entrypoint: sleep 600
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 4}
`;
const reason = 'fan 2 is broken <b>replace</b>';

before(async () => {
  directory = mkdtempSync(join(build, 'web-'));
  // n3 is drained, two nodes run jobs of a colleague, one runs an experiment; another experiment waits.
  await site.start('--nodes', '4', '--slots', '4', '--no-plugin');
  await site.shell(`scontrol update nodename=n3 state=drain reason='${reason}'`, 'root');
  for (const name of ['alpha', 'beta']) await site.shell(`sbatch --exclusive --nodes=1 --gres=gpu:4 --time=10 --job-name=${name} --output=/dev/null --wrap='sleep 600'`, 'colleague');
  await site.shell('mkdir -p code && echo >code/train.py');
  for (const name of ['first', 'second']) await site.shell(`cat >${name}.yaml <<'end'\n${config(name)}end\ndet-submit experiment create ${name}.yaml code`);
  await site.shell('touch submitted');
  await site.startTracker();
  browser = await startBrowser(directory);
  browser.setDefaultTimeout(60_000);
  if (pictures) mkdirSync(pictures, { recursive: true });
});
after(async () => {
  await browser?.close();
  await site.stop();
  rmSync(directory, { recursive: true, force: true });
});

const withPage = (hash, work) => async () => {
  const page = await openPage(browser, site.address + hash);
  try {
    await work(page);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.close();
  }
};

/** The cells of the first row that contains a text, by the titles of their columns; null if there is no such row. */
const cellsOf = (page, caption, text) => page.evaluate(([wanted, content]) => {
  const table = [...document.querySelectorAll('table')].find((candidate) => candidate.caption?.textContent === wanted);
  const row = [...table?.querySelectorAll('tbody tr') ?? []].find((candidate) => candidate.innerText.includes(content));
  if (!row) return null;
  const titles = [...table.querySelectorAll('thead th')].map((cell) => cell.innerText.replace(/[▲▼]/g, '').trim());
  return Object.fromEntries([...row.cells].map((cell, i) => [titles[i], cell.innerText.trim()]));
}, [caption, text]);

describe('with a real Slurm', () => {
  it('the queue has all jobs: own ones marked, the reason in words, the expected start', withPage('#/queue', async (page) => {
    const jobs = 'Jobs in scheduling order';
    await waitUntil('Slurm expects the start of the waiting job and says why it waits', async () => {
      const row = await cellsOf(page, jobs, 'exp-2');
      return row?.['Expected start'] && row['Waits because'];
    });
    const running = await cellsOf(page, jobs, 'exp-1'), waiting = await cellsOf(page, jobs, 'exp-2'), other = await cellsOf(page, jobs, 'alpha');
    assert.equal(running.State, 'running');
    assert.equal(running.Slots, '4 of 4');
    assert.equal(running.Experiment, '1');
    assert.notEqual(running.Started, '');
    assert.equal(waiting.State, 'pending');
    assert.equal(waiting.Slots, '0 of 4');
    assert.match(waiting['Waits because'], /nodes|resources|slots/i);
    assert.doesNotMatch(waiting['Waits because'], /^Resources$/);
    assert.equal(other.User, 'colleague');
    assert.equal(other.Experiment, '');
    assert.equal(await page.locator('tr.own').count(), 2);
    await page.getByLabel('only my experiments').check();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
    if (pictures) {
      await page.getByLabel('only my experiments').uncheck();
      await page.screenshot({ path: join(pictures, 'queue-slurm.png') });
    }
    assert.deepEqual(await findAccessibilityProblems(page), []);
  }));

  it('the pools have their slots; the nodes who is on them, their state and its reason', withPage('#/pools', async (page) => {
    // The page asks for the pools and for the nodes apart.
    for (const caption of ['Resource pools', 'Nodes']) await page.locator(`table caption:text-is("${caption}")`).waitFor({ state: 'attached' });
    const pool = await cellsOf(page, 'Resource pools', 'compute');
    assert.equal(pool.Slots, '12 used, 4 out, of 16');
    assert.equal(pool.Waiting, '1');
    const out = await cellsOf(page, 'Nodes', 'n3');
    assert.match(out.State, /drain/);
    assert.equal(out.Reason, reason);
    assert.equal(out.Jobs, '');
    const nodes = await Promise.all(['n0', 'n1', 'n2'].map((name) => cellsOf(page, 'Nodes', name)));
    assert.deepEqual(nodes.map(({ GPUs }) => GPUs), ['4 of 4', '4 of 4', '4 of 4']);
    assert.deepEqual(nodes.map(({ Jobs }) => Jobs.replace(/^\S+ /, '')).sort(), ['colleague', 'colleague', 'researcher']);
    assert.equal(await page.locator('main b').count(), 0);  // the reason is shown as text, not as markup
    if (pictures) await page.screenshot({ path: join(pictures, 'pools-slurm.png') });
    assert.deepEqual(await findAccessibilityProblems(page), []);
  }));

  it('an experiment that runs shows no warning, and its job', withPage('#/experiments/1', async (page) => {
    await page.locator('h1', { hasText: 'first' }).waitFor();
    assert.equal(await page.locator('.note').count(), 0);
    assert.match(await page.locator('h1').innerText(), /running|starting/);
  }));

  it('a Slurm that does not answer is said to be so, and the queue is back when it answers again', withPage('#/queue', async (page) => {
    await page.locator('tr.own').first().waitFor();
    // If slurmctld is killed, it loses jobs that it has not saved yet.
    await waitUntil('slurmctld has saved its jobs', async () =>
      await site.shell(`state=$(scontrol show config | sed -n 's/^StateSaveLocation *= //p'); [ $state/job_state -nt ${site.home}/submitted ] && echo yes || true`, 'root'));
    await site.daemon('kill', 'slurmctld');
    await page.locator('[role=alert]', { hasText: 'Slurm does not answer' }).waitFor({ timeout: 120_000 });
    await site.daemon('start', 'slurmctld');
    await page.locator('[role=alert]').waitFor({ state: 'detached', timeout: 120_000 });
    await page.locator('tr.own').first().waitFor();
  }));
});
