// Tests the actions of the page with a real Slurm: each button, what it says before, what it does, and who is not let to.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SlurmSite, waitUntil } from './slurm_site.mjs';
import { build, findAccessibilityProblems, findClipped, openPage, startBrowser } from './support.mjs';

const site = new SlurmSite();
const pictures = process.env.DET_SCREENSHOTS;
let browser, directory;

const config = (name, slots = 4) => `name: ${name}
entrypoint: sleep 600
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: ${slots}}
`;

before(async () => {
  directory = mkdtempSync(join(build, 'web-'));
  if (pictures) mkdirSync(pictures, { recursive: true });
  await site.start('--nodes', '1', '--slots', '4', '--no-plugin');
  await site.shell('mkdir -p code && echo >code/train.py');
  // 1 runs, all others wait.
  for (const name of ['first', 'second', 'third', 'fourth', 'fifth'])
    await site.shell(`cat >${name}.yaml <<'end'\n${config(name)}end\ndet-submit experiment create ${name}.yaml code`);
  await site.startTracker('', '--actions');
  browser = await startBrowser(directory);
  browser.setDefaultTimeout(60_000);
  await waitUntil('the first experiment runs', async () => (await stateOf(1)) === 'RUNNING');
});
after(async () => {
  await browser?.close();
  await site.stop();
  rmSync(directory, { recursive: true, force: true });
});

const det = async (words) => JSON.parse(await site.shell(`det-submit ${words} --json`));
const stateOf = async (id) => (await det(`experiment describe ${id}`)).state;
const waitingNames = async () => (await det('job list')).filter((job) => job.slots_acquired === 0).map((job) => job.experiment);

const withPage = (hash, work) => async () => {
  const page = await openPage(browser, site.address);
  try {
    await page.locator('.connection.live').waitFor();
    await page.evaluate((next) => { location.hash = next; }, hash);
    await work(page);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.close();
  }
};
const dialog = (page) => page.locator('dialog.action[open]');

/** Nothing is cut off at any width. With DET_SCREENSHOTS makes pictures. */
async function checkLook(page, name) {
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({ width, height: 900 });
    assert.deepEqual(await findClipped(page), [], `${name} at ${width} pixels`);
    for (const theme of pictures ? ['light', 'dark'] : []) {
      await page.emulateMedia({ colorScheme: theme });
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

/** Presses a button of a head, checks what the dialog says, and confirms. */
async function act(page, verb, says) {
  await page.locator('.actions').getByRole('button', { name: verb, exact: true }).click();
  for (const text of says) await dialog(page).locator('.plan', { hasText: text }).waitFor();
  assert.deepEqual(await findAccessibilityProblems(page), []);
  if (verb === 'Pause') await checkLook(page, 'action-pause');
  await dialog(page).getByRole('button', { name: verb, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

/** Who did what to an experiment, as its page shows it. */
async function historyOf(page, id) {
  await page.evaluate((next) => { location.hash = next; }, `#/experiments/${id}?tab=events`);
  await page.locator('section[aria-label=History] tbody tr').first().waitFor();
  return page.locator('section[aria-label=History] tbody tr').evaluateAll((rows) => rows.map((row) => [row.cells[1].innerText, row.cells[2].innerText]));
}

/** Sends a request to the tracker's socket as its user does, or with other headers. */
function send(path, body, headers = {}, method = 'POST') {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, site.address.replace(/#.*/, '')), { method, headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + site.token, ...headers } }, (response) => {
      let text = '';
      response.on('data', (part) => { text += part; });
      response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text || 'null') }));
    });
    request.on('error', reject);
    request.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

describe('an experiment', () => {
  it('is paused and activated, and its history says by whom', withPage('#/experiments/5', async (page) => {
    await act(page, 'Pause', ['1 waiting trial is held', 'det-submit experiment pause 5']);
    assert.equal(await stateOf(5), 'PAUSED');
    await act(page, 'Activate', ['is paused']);
    await waitUntil('it is queued', async () => (await stateOf(5)) === 'QUEUED');
    assert.deepEqual((await historyOf(page, 5)).map(([what]) => what), ['activated', 'paused', 'created']);
    assert.ok((await historyOf(page, 5)).every(([, by]) => by.startsWith('researcher@')));
  }));

  it('is not touched if the user goes back', withPage('#/experiments/5', async (page) => {
    await page.locator('.actions').getByRole('button', { name: 'Kill' }).click();
    await dialog(page).locator('.plan', { hasText: 'never starts' }).waitFor();
    await dialog(page).getByRole('button', { name: 'Back' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await page.locator('.actions').getByRole('button', { name: 'Cancel' }).click();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    assert.equal(await stateOf(5), 'QUEUED');
  }));
});

describe('a waiting job', () => {
  const move = async (page, id, operation, choose) => {
    await page.locator('tr', { has: page.locator(`a[href="#/experiments/${id}"]`) }).getByRole('button', { name: /^Move job/ }).click();
    await dialog(page).locator('select').first().selectOption(operation);
    await choose?.();
    await dialog(page).locator('.moves li').first().waitFor();
    assert.deepEqual(await findAccessibilityProblems(page), []);
    if (operation === 'top') await checkLook(page, 'action-move');
    await dialog(page).getByRole('button', { name: 'Move', exact: true }).click();
    await dialog(page).waitFor({ state: 'detached' });
  };
  const jobOf = async (id) => (await det('job list')).find((job) => job.experiment === id).id;

  it('moves to the top, ahead of, behind, and to a priority', withPage('#/queue', async (page) => {
    assert.deepEqual(await waitingNames(), [2, 3, 4, 5]);
    await move(page, 5, 'top');
    assert.deepEqual(await waitingNames(), [5, 2, 3, 4]);
    await move(page, 4, 'ahead-of', async () => dialog(page).locator('select').nth(1).selectOption(await jobOf(3)));
    assert.deepEqual(await waitingNames(), [5, 2, 4, 3]);
    await move(page, 5, 'behind-of', async () => dialog(page).locator('select').nth(1).selectOption(await jobOf(4)));
    assert.deepEqual(await waitingNames(), [2, 4, 5, 3]);
    await move(page, 2, 'priority', () => dialog(page).locator('input[type=number]').fill('99'));
    assert.equal((await det('job list')).find((job) => job.experiment === 2).nice, 139);
    assert.equal((await historyOf(page, 5)).filter(([what]) => what === 'moved in the queue').length > 0, true);
  }));

  it('says why it can not move, and is not moved', withPage('#/queue', async (page) => {
    const before = await waitingNames();
    await page.locator('tr', { has: page.locator('a[href="#/experiments/3"]') }).getByRole('button', { name: /^Move job/ }).click();
    await dialog(page).locator('select').first().selectOption('priority');
    await dialog(page).locator('input[type=number]').fill('100');
    await dialog(page).locator('[role=alert]', { hasText: "priority '100' is no number from 1" }).waitFor();
    assert.equal(await dialog(page).getByRole('button', { name: 'Move', exact: true }).isDisabled(), true);
    assert.deepEqual(await waitingNames(), before);
  }));
});

describe('a new experiment', () => {
  it('has an edited configuration, which is checked while it is typed', withPage('#/experiments/1', async (page) => {
    await page.getByRole('link', { name: 'New from this' }).click();
    const area = page.getByLabel('Configuration', { exact: true });
    await area.waitFor();
    await page.locator('[role=status]', { hasText: 'no problems' }).waitFor();
    const text = await area.inputValue();
    await area.fill(text.replace(/^( *)slots_per_trial:/m, '$1slot_per_trial:'));
    const problem = page.locator('.problems li', { hasText: "unknown key 'slot_per_trial'" });
    await problem.waitFor();
    await problem.locator('text=slots_per_trial').last().waitFor();
    const line = text.split('\n').findIndex((each) => /^ *slots_per_trial:/.test(each)) + 1;
    await problem.getByRole('button', { name: `line ${line}, column` }).click();
    assert.equal(await area.evaluate((element) => element.value.slice(0, element.selectionStart).split('\n').length), line);
    const place = await area.evaluate((element, at) => element.getBoundingClientRect().top + 6 + 18 * (at - 1), line);
    const above = await page.locator('.above-editor').evaluate((element) => element.getBoundingClientRect().bottom);
    assert.ok(place >= above && place < 860, `line ${line} is ${place} pixels below the top, the problems end at ${above}`);
    assert.equal(await page.getByRole('button', { name: 'Create …' }).isDisabled(), true);
    assert.deepEqual(await findAccessibilityProblems(page), []);
    await checkLook(page, 'action-new');
    await area.fill(text.replace(/^( *)slots_per_trial: *\d+/m, '$1slots_per_trial: 4000'));
    await page.locator('.problems li.bad').first().waitFor();  // what the pools do not have is found too
    await area.fill(text.replace(/^name:.*$/m, 'name: edited').replace(/^( *)slots_per_trial: *\d+/m, '$1slots_per_trial: 2'));
    await page.locator('[role=status]', { hasText: "'edited', 1 node of 2 slots in pool compute" }).waitFor();
    assert.deepEqual(await findAccessibilityProblems(page), []);
    await page.getByLabel('paused: its jobs wait').check();
    await page.locator('[role=status]', { hasText: "'edited'" }).waitFor();
    await page.getByRole('button', { name: 'Create …' }).click();
    await dialog(page).locator('text=Its jobs wait, held').waitFor();
    await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
    await page.waitForFunction(() => location.hash === '#/experiments/6');
    const made = await det('experiment describe 6');
    assert.equal(made.name, 'edited');
    assert.equal(made.parent_id, 1);
    assert.equal(made.state, 'PAUSED');
    assert.equal(made.slots_per_node, 2);
    assert.equal((await det('experiment describe 1')).name, 'first');
  }));
});

describe('notes and labels', () => {
  it('are changed in the head of an experiment', withPage('#/experiments/2', async (page) => {
    await page.getByRole('button', { name: 'edit notes' }).click();
    await page.getByLabel('Notes', { exact: true }).last().fill('-- try a smaller step\nand <b>more</b>');
    await page.getByRole('button', { name: 'Save notes' }).click();
    await page.locator('.notes p', { hasText: 'and <b>more</b>' }).waitFor();
    await page.getByLabel('New label').fill('promising');
    await page.keyboard.press('Enter');
    await page.locator('.facts .label', { hasText: 'promising' }).waitFor();
    assert.deepEqual(await findAccessibilityProblems(page), []);
    const { notes, labels } = await det('experiment describe 2');
    assert.deepEqual([notes, labels], ['-- try a smaller step\nand <b>more</b>', ['promising']]);
    await page.getByRole('button', { name: 'Remove label promising' }).click();
    await page.locator('.facts .label').waitFor({ state: 'detached' });
    assert.equal(await page.locator('main b').count(), 0);
  }));
});

describe('nobody else acts:', () => {
  const pause = { action: 'pause', target: '3' };

  it('no token, a wrong one, another site, a form of another site', async () => {
    assert.equal((await send('v1/actions', pause)).status, 200);
    for (const [headers, status] of [
      [{ Authorization: '' }, 401], [{ Authorization: 'Bearer wrong' }, 401], [{ Origin: 'http://evil.example' }, 403], [{ Origin: 'null' }, 403], [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
      [{ 'Sec-Fetch-Site': 'same-site' }, 403], [{ Host: 'evil.example' }, 403], [{ 'Content-Type': 'text/plain' }, 400], [{ 'Content-Type': 'application/x-www-form-urlencoded' }, 400],
    ]) assert.equal((await send('v1/actions', pause, headers)).status, status, JSON.stringify(headers));
    assert.equal((await send('v1/actions', pause, {}, 'GET')).status, 405);
    for (const [body, status] of [['{', 400], [{}, 400], [{ action: 'delete', target: '3' }, 400], [{ ...pause, target: '--all' }, 400], [{ ...pause, more: 1 }, 400], [{ action: 'priority', target: '-1', value: '1' }, 400],
      [{ ...pause, target: '99' }, 404]]) assert.equal((await send('v1/actions', body)).status, status, JSON.stringify(body));
    assert.equal(await stateOf(3), 'QUEUED');
  });

  it('a page of another site in the same browser', async () => {
    const page = await browser.newPage();
    try {
      await page.route('http://other.example/', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>other</h1>' }));
      await page.goto('http://other.example/');
      const address = site.address.replace(/#.*/, 'v1/actions');
      const outcomes = await page.evaluate(async ([url, token, body]) => {
        const attempt = (options) => fetch(url, { method: 'POST', body, ...options }).then((response) => response.type, () => 'refused');
        return [await attempt({ headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token } }), await attempt({ mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } })];
      }, [address, site.token, JSON.stringify(pause)]);
      assert.equal(outcomes[0], 'refused');
      assert.equal(await stateOf(3), 'QUEUED');
    } finally {
      await page.close();
    }
  });

  it('another user of the login node, by the port, the socket or the state file', async () => {
    const program = `
import http.client, json, os, socket, sys
def status(connection):
    try:
        connection.request("POST", "/v1/actions", json.dumps({"action": "kill", "target": "3"}), {"Content-Type": "application/json"})
        return connection.getresponse().status
    except OSError as problem:
        return type(problem).__name__
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[2])
def read(path):
    try:
        return open(path).read()
    except OSError as problem:
        return type(problem).__name__
print(json.dumps([status(http.client.HTTPConnection("localhost", int(sys.argv[1]))), status(Local("localhost")), read(sys.argv[2].replace(".sock", ".json"))]))`;
    const found = JSON.parse(await site.shell(`python3 -c '${program}' ${site.port} '${site.socket}'`, 'colleague'));
    assert.deepEqual(found, [401, 'PermissionError', 'PermissionError']);
    assert.equal(await stateOf(3), 'QUEUED');
  });

  it('nobody twice by the same confirmation, nor by an invented one', async () => {
    const { body: { confirmation } } = await send('v1/actions', { action: 'label-add', target: '3', value: 'once' });
    assert.equal((await send('v1/actions/' + confirmation, {}, { Authorization: '' })).status, 401);
    assert.equal((await send('v1/actions/' + confirmation, {}, { Origin: 'http://evil.example' })).status, 403);
    assert.deepEqual((await det('experiment describe 3')).labels, []);
    const [one, other] = await Promise.all([send('v1/actions/' + confirmation, {}), send('v1/actions/' + confirmation, {})]);
    assert.deepEqual([one.status, other.status].sort(), [200, 403]);
    assert.equal((await send('v1/actions/' + confirmation, {})).status, 403);
    assert.equal((await send('v1/actions/00000000-0000-4000-8000-000000000000', {})).status, 403);
    const { events } = (await send('v1/experiments/3/events', '', {}, 'GET')).body;
    assert.equal(events.filter((event) => event.kind === 'labelled').length, 1);
  });
});

describe('an end', () => {
  it('of a trial, by its page', withPage('#/trials/1.0', async (page) => {
    await act(page, 'Kill', ['Trial 1.0 is running', 'ends at once']);
    await waitUntil('the trial has ended', async () => (await stateOf(1)) === 'CANCELED');
    assert.deepEqual((await historyOf(page, 1)).map(([what]) => what), ['trial killed', 'created']);
  }));

  it('of experiments, which are then archived and brought back', withPage('#/experiments/3', async (page) => {
    await act(page, 'Cancel', ["It can't be activated again"]);
    await waitUntil('it has ended', async () => (await stateOf(3)) === 'CANCELED');
    await act(page, 'Archive', ['left out of lists']);
    assert.equal((await det('experiment describe 3')).archived, true);
    await act(page, 'Unarchive', ['show it again']);
    assert.equal((await det('experiment describe 3')).archived, false);
    assert.deepEqual((await historyOf(page, 3)).map(([what]) => what).slice(0, 3), ['unarchived', 'archived', 'cancelled']);
    await page.evaluate(() => { location.hash = '#/experiments/4'; });
    await page.locator('h1', { hasText: 'fourth' }).waitFor();
    await act(page, 'Kill', []);
    await waitUntil('it is killed', async () => (await stateOf(4)) === 'CANCELED');
  }));

  it('of the wait: a job moves to another pool', withPage('#/queue', async (page) => {
    await page.locator('tr', { has: page.locator('a[href="#/experiments/6"]') }).first().waitFor();
    // One of the two gets the node, which is free since the first trial was killed. The other goes on waiting.
    await waitUntil('one runs', async () => (await stateOf(2)) === 'RUNNING' || (await stateOf(5)) === 'RUNNING');
    const id = (await waitingNames()).find((each) => each === 2 || each === 5);
    await page.locator('tr', { has: page.locator(`a[href="#/experiments/${id}"]`) }).getByRole('button', { name: /^Move job/ }).click();
    await dialog(page).locator('select').first().selectOption('resource-pool');
    await dialog(page).locator('select').nth(1).selectOption('urgent');
    await dialog(page).locator('.moves li', { hasText: 'partition -> urgent' }).waitFor();
    await dialog(page).getByRole('button', { name: 'Move', exact: true }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await waitUntil('it is in the other pool', async () => (await det('job list')).some((job) => job.experiment === id && job.resource_pool === 'urgent'));
  }));
});

describe('without --actions', () => {
  it('nothing of it is shown or served', async () => {
    site.relay.kill();
    await site.shell('det-tracker stop');
    await site.startTracker();
    await withPage('#/experiments/5', async (page) => {
      await page.locator('h1', { hasText: 'fifth' }).waitFor();
      await page.locator('summary', { hasText: 'Commands' }).waitFor();
      assert.equal(await page.locator('.actions').count(), 0);
      await page.evaluate(() => { location.hash = '#/experiments/5?tab=new'; });
      await page.locator('section, table').first().waitFor();
      assert.equal(await page.locator('textarea').count(), 0);
      await page.evaluate(() => { location.hash = '#/queue'; });
      await page.locator('tr.own').first().waitFor();
      assert.equal(await page.getByRole('button', { name: /^Move job/ }).count(), 0);
    })();
    assert.equal((await send('v1/actions', { action: 'pause', target: '5' })).status, 404);
  });
});
