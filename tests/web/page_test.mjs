// Tests the page of det-tracker in a headless browser: each view, keys, reconnecting, prefixes, hostile text, accessibility.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openPage, show, startBrowser, startProxy, Tracker, views } from './support.mjs';

const tracker = new Tracker();
let browser;

before(async () => {
  await tracker.makeExamples();
  await tracker.start();
  browser = await startBrowser(tracker.directory);
  browser.setDefaultTimeout(60_000);
});
after(async () => {
  await browser?.close();
  await tracker.end();
});

/** Runs a test with a new page. Fails if the page's scripts have errors or if it sends requests to other servers. */
const withPage = (work, options) => async () => {
  const page = await openPage(browser, options?.address ?? tracker.address, options);
  try {
    await work(page);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.close();
  }
};

const goTo = (page, hash) => page.evaluate((next) => { location.hash = next; }, hash);
/** The control with this label. The text of a label with a list contains those of its choices, so this looks at its span. */
const fieldOf = (page, name) => page.locator('label.choice', { has: page.locator(`span:text-is("${name}")`) }).locator('select, input');
const textOf = (page, selector) => page.locator(selector).first().innerText();

describe('the views', () => {
  it('keep the token out of the address', withPage(async (page) => {
    await page.locator('table').first().waitFor();
    assert.ok(!page.url().includes('token'));
    await page.reload();  // the tab has kept the token
    await page.locator('text=digits baseline').first().waitFor();
  }));

  it('follow an address that changes before the first frame', async () => {
    const page = await browser.newPage();
    try {
      await page.addInitScript(() => document.addEventListener('DOMContentLoaded', () => { location.hash = '#/pools'; }));
      await page.goto(tracker.address);
      await page.locator('nav a[aria-current=page]:text-is("Pools")').waitFor();
    } finally {
      await page.close();
    }
  });

  it('list, filter and sort experiments, with the state in the address', withPage(async (page) => {
    await page.locator('text=digits baseline').first().waitFor();
    const rows = () => page.locator('tbody tr').count();
    assert.equal(await rows(), 8);
    await page.locator('#search').fill('search');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
    assert.match(page.url(), /q=search/);
    await page.getByRole('button', { name: 'Best' }).click();
    assert.match(page.url(), /sort=best/);
    assert.equal(await page.locator('th[aria-sort=ascending]').count(), 1);
    const values = await page.locator('tbody tr td:nth-child(7)').allInnerTexts();
    assert.deepEqual([...values].sort((a, b) => a - b), values);
    assert.ok((await page.locator('thead').innerText()).includes('Trials'));
    await fieldOf(page, 'State').selectOption('ERROR');
    await page.locator('text=No experiment matches').waitFor();
    await page.locator('text=Show all').click();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 8);
    // Hyperparameters that differ are columns.
    assert.ok((await page.locator('thead').innerText()).includes('learning_rate'));
  }));

  it('lead to the reason of a failure in two clicks', withPage(async (page) => {
    await page.locator('a:has-text("fails large-batch")').click();
    await page.locator('.note.bad').waitFor();
    assert.match(await textOf(page, '.note.bad'), /rank 5 on node2 ended with exit code 1/);
    await page.locator('.note.bad a', { hasText: 'Trial 4.0' }).click();
    await page.locator('.note.bad pre').waitFor();
    assert.match(await textOf(page, '.note.bad'), /Rank 5 on node2 failed first, with exit code 1/);
    assert.match(await textOf(page, '.note.bad pre'), /CUDA out of memory/);
    await page.locator('text=Log at that moment').click();
    await page.locator('.log .line', { hasText: 'CUDA out of memory' }).first().waitFor();
  }));

  it('zoom into a range, which the tracker then sends in full, and back', withPage(async (page) => {
    await goTo(page, '#/experiments/1?metric=training.loss');
    await page.locator('.plot canvas').waitFor();
    const answered = page.waitForResponse((response) => response.url().includes('/series') && response.url().includes('from='));
    const box = await page.locator('.plot .area').boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 120, { steps: 5 });
    await page.mouse.up();
    const series = await (await answered).json();
    const { x } = series.trials[0];
    assert.ok(x[0] > 200 && x[x.length - 1] < 400, `${x[0]} to ${x[x.length - 1]}`);
    assert.equal(x.length, x[x.length - 1] - x[0] + 1);
    assert.match(page.url(), /zoom=/);
    await page.getByRole('button', { name: 'whole range' }).click();
    await page.waitForFunction(() => !location.hash.includes('zoom'));
  }));

  it('give the data of a chart as a table and as CSV', withPage(async (page) => {
    await goTo(page, '#/trials/1.0');
    await page.locator('.plot canvas').first().waitFor();
    const figure = page.locator('figure.chart', { hasText: 'accuracy' }).first();
    await figure.locator('summary').click();
    await figure.locator('tbody tr').first().waitFor();  // opening the table fills it
    assert.equal(await figure.locator('tbody tr').count(), 24);
    const [download] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', { name: 'CSV' }).click()]);
    const lines = readFileSync(await download.path(), 'utf8').trimEnd().split('\r\n');
    assert.equal(lines.length, 25);
    assert.equal(lines[0], 'line,steps,value');
    assert.match(lines[24], /^accuracy,600,0\./);
  }));

  it('give every picture as a table and as CSV', withPage(async (page) => {
    const withPictures = [['experiment-hyperparameters', 1], ['experiment-search', 1], ['experiment-usage', 2], ['trial-runs', 1], ['trial-system', 2]];
    for (const [name, buttons] of withPictures) {
      await show(page, views.find((view) => view.name === name));
      const csv = page.locator('main > section > button.csv, main .table > button.csv, main .tools > button.csv');
      assert.ok(await csv.count() >= buttons, `${name} has ${await csv.count()} buttons CSV`);
      for (let i = 0; i < await csv.count(); ++i) {
        const [download] = await Promise.all([page.waitForEvent('download'), csv.nth(i).click()]);
        const lines = readFileSync(await download.path(), 'utf8').trimEnd().split('\r\n');
        assert.ok(lines.length > 1, `${name}: ${download.suggestedFilename()}`);
        assert.ok(lines.every((line) => !/undefined|\[object/.test(line)), lines.join('\n'));
      }
    }
    for (const name of ['experiment-curves', 'trial-curves', 'trial-system', 'compare']) {
      await show(page, views.find((view) => view.name === name));
      assert.equal(await page.locator('figure.chart:has(canvas)').count(), await page.locator('figure.chart:has(canvas) details.data').count(), name);
    }
  }));

  it('name the rank that others wait for', withPage(async (page) => {
    await goTo(page, '#/trials/1.0?tab=system');
    await page.locator('.note', { hasText: 'Rank 5 on node2 is the one that 7 ranks wait for, in allreduce' }).waitFor();
  }));

  it('hide superseded steps unless asked, and show validation beside training', withPage(async (page) => {
    await goTo(page, '#/trials/5.0');
    const loss = page.locator('figure.chart', { hasText: 'loss' }).first();
    await loss.locator('.legend li').nth(1).waitFor();
    assert.deepEqual(await loss.locator('.legend li').allInnerTexts(), ['training', 'validation']);
    await page.getByLabel('superseded steps too').check();
    await loss.locator('.legend li', { hasText: 'run 2' }).first().waitFor();
  }));

  it('show where the search stopped each trial', withPage(async (page) => {
    await goTo(page, '#/experiments/2?tab=search');
    await page.locator('.bracket path.stopped').first().waitFor();
    const stopped = await page.locator('tbody tr', { hasText: 'stop' }).count();
    assert.ok(stopped > 0);
    assert.equal(await page.locator('.bracket path.stopped').count(), stopped);
  }));

  it('show what the program of a custom search has answered', withPage(async (page) => {
    const none = { hyperparameters: null, stop: null, lengths: {}, close: [], prune: [] };
    await page.route(/\/v1\/experiments\/2\/search$/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const at = { time: '2026-11-29T10:00:00Z', job: '7_0', trial: 0 };
      body.answer = { ...body.answer, searcher: 'custom', brackets: [], decisions: [], sampler: [
        { ...none, ...at, question: 'begin', hyperparameters: { lr: 0.125, layers: [64, 32] }, lengths: { 0: 40 } },
        { ...none, ...at, question: 'intermediate', prune: [3, 4] },
        { ...none, ...at, question: 'trained', close: [0] },
        { ...none, ...at, trial: 1, question: 'begin', stop: '<b>enough</b>' },
      ] };
      await route.fulfill({ response, json: body });
    });
    await goTo(page, '#/experiments/2?tab=search');
    const table = page.getByRole('table', { name: 'Decisions of the program' });
    await table.waitFor();
    const answers = await table.locator('tbody tr td:last-child').allInnerTexts();
    assert.deepEqual(answers, ['lr=0.125; layers=[64,32]; train 0 to 40', 'prune 3, 4', 'close 0', 'the search ends: <b>enough</b>']);
    await table.locator('a', { hasText: '2.1' }).waitFor();
  }));

  it('choose parts of the axes of hyperparameters', withPage(async (page) => {
    await goTo(page, '#/experiments/3?tab=hyperparameters');
    await page.locator('svg.parallel').waitFor();
    await page.locator('summary', { hasText: 'Parts of the axes' }).click();
    await page.getByLabel('loss, highest percent of the axis').fill('50');
    await page.keyboard.press('Tab');
    await page.waitForFunction(() => location.hash.includes('brush='));
    assert.match(await textOf(page, 'section p[role=status]'), /^\d+ of 24 trials/);
    await page.getByRole('button', { name: 'all of all axes' }).click();
    assert.match(await textOf(page, 'section p[role=status]'), /^24 trials/);
  }));

  it('name the origin of each value of the configuration', withPage(async (page) => {
    await goTo(page, '#/experiments/1?tab=config');
    await page.locator('tr.own').first().waitFor();
    assert.match(await textOf(page, 'tr:has-text("entrypoint")'), /exp\.yaml:2/);
    await page.locator('#search').fill('max_restarts');
    await page.waitForFunction(() => document.querySelectorAll('.config tbody tr').length === 1);
    assert.match(await textOf(page, '.config tbody tr'), /default/);
  }));

  it('compare experiments that were selected with keys', withPage(async (page) => {
    await page.locator('text=digits baseline').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.waitForFunction(() => /selected=7(%2C|,)5/.test(location.hash));
    await page.keyboard.press('c');
    await page.waitForFunction(() => /^#\/compare\?ids=7(%2C|,)5$/.test(location.hash));
    await page.locator('.plot canvas').waitFor();
    assert.match(await textOf(page, 'table:has-text("Name")'), /still running/);
    assert.match(await textOf(page, 'table:has-text("Key")'), /preempted twice/);
  }));

  it('say why there is no queue where Slurm does not answer', withPage(async (page) => {
    await goTo(page, '#/queue');
    await page.locator('[role=alert]').waitFor();
  }));
});

/** What clips the text of an element: the difference of its box to that of its text, and to that of the box around it. */
const clippedBy = (locator, around) => locator.evaluate((element, selector) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const text = range.getBoundingClientRect(), box = element.getBoundingClientRect(), outer = element.closest(selector).getBoundingClientRect();
  const beyond = (inner, whole) => Math.max(0, whole.left - inner.left, inner.right - whole.right, whole.top - inner.top, inner.bottom - whole.bottom);
  return { text: Math.round(text.width), box: Math.round(box.width), byBox: Math.round(beyond(text, box)), byOuter: Math.round(beyond(box, outer)) };
}, around);

describe('what must be read is not clipped:', () => {
  it('the label of a point of a chart', withPage(async (page) => {
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 860 });
      for (const name of ['experiment-curves', 'trial-curves', 'trial-system', 'compare', 'hostile']) {
        await show(page, views.find((view) => view.name === name));
        const plot = page.locator('.plot:has(canvas)').first();
        // A moment after the window, the chart has its new width too.
        await page.waitForFunction(() => [...document.querySelectorAll('.plot .axes')].every((chart) => chart.clientWidth === chart.parentElement.clientWidth));
        await plot.focus();
        for (const key of ['Home', 'End', 'PageUp', 'ArrowDown']) {
          await page.keyboard.press(key);
          const label = plot.locator('.pointer .label');
          await label.waitFor();
          const said = await label.innerText();
          assert.match(said, /.+, .+: .+/);
          const { text, box, byBox, byOuter } = await clippedBy(label, '.plot');
          const where = `${name} at ${width} pixels, ${key}: '${said}' is ${text} pixels wide in a label of ${box}`;
          assert.ok(text > 60, where);
          assert.ok(byBox <= 1, `${where}, which clips ${byBox} pixels`);
          assert.ok(byOuter <= 1, `${where}, of which the chart clips ${byOuter} pixels`);
        }
      }
    }
  }));

  it('the exception below a long traceback', withPage(async (page) => {
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 860 });
      await show(page, views.find((view) => view.name === 'trial-failed'));
      const output = page.locator('.note.bad pre');
      assert.match(await output.innerText(), /\nRuntimeError: CUDA out of memory\. Tried to allocate 2\.50 GiB$/);
      await page.waitForFunction(() => {
        const element = document.querySelector('.note.bad pre'), node = element.firstChild, range = document.createRange();
        range.setStart(node, node.data.lastIndexOf('RuntimeError'));
        range.setEnd(node, node.length);
        const line = range.getBoundingClientRect(), box = element.getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom && line.right <= box.right + 1;
      });
      assert.ok(await output.evaluate((element) => element.scrollHeight > element.clientHeight), 'the traceback is longer than its box');
    }
  }));

  it('how far a trial is that reports no progress', withPage(async (page) => {
    const row = page.locator('tbody tr', { hasText: 'still running' });
    await row.locator('.progress').waitFor();
    assert.equal((await row.locator('.progress').innerText()).trim(), '57 %');  // step 400 of 700
    await goTo(page, '#/trials/7.0');
    await page.locator('.fact', { hasText: 'Progress' }).waitFor();
    assert.match(await textOf(page, '.fact:has-text("Progress")'), /57 %/);
  }));

  it('how long a compared trial took, beside its experiment', withPage(async (page) => {
    await goTo(page, '#/compare?ids=2,2.0,5.0');
    await page.locator('table:has-text("Duration")').waitFor();
    const cells = (name) => page.locator('tr', { has: page.locator(`th[scope=row]:text-is("${name}")`) }).locator('td').allInnerTexts();
    const [experiment, trial, preempted] = await cells('Duration');
    assert.equal(trial, '1 min 50 s');
    assert.match(experiment, /^2\d min/);
    assert.equal(preempted, '30 min 20 s');
    assert.deepEqual(await cells('Trials'), ['40', '', '']);
    const [ofExperiment, ofTrial] = await cells('Slot time');
    assert.notEqual(ofExperiment, ofTrial);
  }));
});

describe('the logs', () => {
  it('are filtered by rank, level and text', withPage(async (page) => {
    await goTo(page, '#/trials/1.0?tab=logs');
    await page.locator('.log .line').first().waitFor();
    await fieldOf(page, 'Ranks').fill('3');
    await page.waitForFunction(() => location.hash.includes('rank=3'));
    await page.waitForFunction(() => [...document.querySelectorAll('.log .rank')].length > 0 && [...document.querySelectorAll('.log .rank')].every((rank) => rank.textContent === '3'));
    await fieldOf(page, 'Ranks').fill('');
    await fieldOf(page, 'Level').selectOption('warning');
    await page.waitForFunction(() => document.querySelectorAll('.log .line.warning').length > 5 && document.querySelectorAll('.log .line.info').length === 0);
    await fieldOf(page, 'Level').selectOption('');
    await page.locator('#search').fill('step 499 ');
    await page.waitForFunction(() => [...document.querySelectorAll('.log .text')].length === 8);
    await page.locator('#search').fill('[');
    await page.locator('[role=alert]').waitFor();
  }));

  it('begin at the end, go back to the beginning, and draw only what is in view', withPage(async (page) => {
    await goTo(page, '#/trials/1.0?tab=logs');
    await page.locator('.log .line', { hasText: 'step 499' }).first().waitFor();
    for (let i = 0; i < 10 && (await page.locator('text=from the beginning').count()) === 0; ++i) {
      const before = await page.locator('.log > div').evaluate((element) => element.style.height);
      await page.locator('.log').evaluate((element) => { element.scrollTop = 0; });
      await page.waitForFunction((height) => document.querySelector('.log > div').style.height !== height || document.body.textContent.includes('from the beginning'), before);
    }
    await page.locator('.log').evaluate((element) => { element.scrollTop = 0; });
    await page.locator('.log .line', { hasText: 'step 0 ' }).first().waitFor();
    assert.match(await textOf(page, 'p[role=status]'), /4\u202f000 lines/);
    assert.ok(await page.locator('.log .line').count() < 150);
  }));

  it('follow what a job writes', withPage(async (page) => {
    await goTo(page, '#/trials/7.0?tab=logs&follow=1');
    await page.locator('.log .line').first().waitFor();
    const time = new Date(Date.now() + 1000).toISOString().replace('Z', '000Z');
    appendFileSync(tracker.runsFile('7.0', 0, 'node-0.log'), `${time} [rank=0] INFO: news from the job\n`);
    await page.locator('.log .line', { hasText: 'news from the job' }).waitFor();
  }));
});

describe('states', () => {
  it('a chart says what it can not draw', withPage(async (page) => {
    await goTo(page, '#/experiments/6?metric=training.loss');
    await page.locator('figure.chart .note', { hasText: '20 values are NaN or infinite and are not drawn' }).waitFor();
  }));

  it('a view that has nothing says what to do', async () => {
    const empty = new Tracker();
    mkdirSync(empty.environment.DET_ROOT, { mode: 0o700 });
    await empty.start();
    try {
      await withPage(async (page) => {
        await page.locator('.empty', { hasText: 'There are no experiments yet. Create one with det-submit experiment create' }).waitFor();
        await goTo(page, '#/compare');
        await page.locator('.empty', { hasText: 'Select experiments' }).waitFor();
      }, { address: empty.address })();
    } finally {
      await empty.end();
    }
  });

  it('each part of an experiment without trials says so', withPage(async (page) => {
    for (const [tab, text] of [['', 'No trial has reported a metric yet'], ['checkpoints', 'No trial has saved a checkpoint yet'], ['usage', 'None of its jobs has started'],
      ['hyperparameters', 'Hyperparameters are compared once'], ['search', 'has no rungs']]) {
      await goTo(page, '#/experiments/8?tab=' + tab);
      await page.locator('.empty', { hasText: text }).waitFor();
    }
    await goTo(page, '#/trials/8.0?tab=logs');
    await page.locator('.empty', { hasText: 'has written nothing yet' }).or(page.locator('.note.bad', { hasText: 'Not found' })).waitFor();
  }));

  it('what does not exist is said to be absent, with a hint', withPage(async (page) => {
    for (const [hash, text] of [['#/experiments/99', 'there is no experiment 99'], ['#/trials/1.7', 'no trial'], ['#/nowhere', 'no view at this address']]) {
      await goTo(page, hash);
      await page.locator('main', { hasText: text }).waitFor();
    }
  }));

  it('a view that loads says so, without moving what is there', withPage(async (page) => {
    await page.locator('text=digits baseline').first().waitFor();
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route('**/v1/experiments/1/**', async (route) => { await held; await route.continue(); });
    await goTo(page, '#/experiments/1?tab=trials');
    await page.locator('.loading', { hasText: 'Loading trials' }).waitFor();
    assert.equal(await page.locator('h1', { hasText: 'digits baseline' }).count(), 1);
    release();
    await page.locator('table a:text-is("1.0")').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  }));

  it('an answer that is an error is shown with its reason', withPage(async (page) => {
    await page.route('**/v1/experiments/1/search', (route) => route.fulfill({ status: 500, contentType: 'application/json', body: JSON.stringify({ error: { code: 'internal', message: 'the index is <b>damaged</b>', hint: 'run det-tracker rebuild' } }) }));
    await goTo(page, '#/experiments/1?tab=search');
    await page.locator('[role=alert]', { hasText: 'the index is <b>damaged</b>' }).waitFor();
    await page.locator('[role=alert]', { hasText: 'Hint: run det-tracker rebuild' }).waitFor();
  }));
});

describe('hostile text', () => {
  it('of names, labels, metrics, hyperparameters, alerts and logs is never markup', withPage(async (page) => {
    for (const hash of ['#/experiments', '#/experiments/6', '#/experiments/6?tab=trials', '#/experiments/6?tab=config', '#/experiments/6?tab=usage', '#/trials/6.0',
      '#/trials/6.0?tab=runs', '#/trials/6.0?tab=info', '#/compare?ids=6,1', '#/trials/6.0?tab=logs']) {
      await goTo(page, hash);
      await page.locator('text=<img src=x >> visible=true').first().waitFor();
      await page.waitForFunction(() => document.querySelectorAll('.loading').length === 0);
      const found = await page.evaluate(() => ({
        hacked: window.hacked, images: document.querySelectorAll('img').length, scripts: document.querySelectorAll('body script').length,
        links: [...document.querySelectorAll('a')].filter((a) => !a.getAttribute('href').startsWith('#')).length,
        control: /[\u0000-\u0008\u000b-\u001f\u007f\u202e]/.test(document.body.innerText),
      }));
      assert.deepEqual(found, { hacked: undefined, images: 0, scripts: 0, links: 0, control: false }, hash);
    }
  }));

  it('in addresses is only text', withPage(async (page) => {
    for (const hash of ['#/experiments/%3Cimg%20src=x%3E', '#/trials/%2e%2e%2f1', '#/%ff', '#/experiments?q=%3Cscript%3E&sort=nonsense', '#/compare?ids=../../x', '#/experiments/1?zoom=x,y&smooth=9&tab=nonsense']) {
      await goTo(page, hash);
      await page.locator('main').waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll('img, body script').length), 0);
    }
  }));
});

describe('access', () => {
  it('needs the right token, and can be given it in the page', withPage(async (page) => {
    await page.locator('h1', { hasText: 'token' }).waitFor();
    await page.locator('#token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'token' }).waitFor();
    const right = /token=(.*)$/.exec(tracker.address)[1];
    await page.locator('#token').fill(right);
    await page.keyboard.press('Enter');
    await page.locator('text=digits baseline').first().waitFor();
  }, { get address() { return tracker.address.replace(/#.*/, '#token=wrong'); } }));

  it('is refused under a foreign name of the host', async () => {
    const answer = await fetch(`http://127.0.0.1:${tracker.port}/`, { headers: { Host: 'evil.example' } }).catch((error) => error);
    // fetch does not let a page choose the header Host. This request has the Host of an attack by DNS rebinding.
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => request({ port: tracker.port, host: '127.0.0.1', path: '/', headers: { Host: 'evil.example' } }, (response) => resolve(response.statusCode)).on('error', reject).end());
    assert.equal(status, 403);
    assert.ok(answer);
  });

  it('is refused to scripts of other sites', async () => {
    const page = await browser.newPage();
    try {
      await page.route('http://other.example/', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>other</h1>' }));
      await page.goto('http://other.example/');
      const outcome = await page.evaluate(async (port) => {
        const script = await new Promise((resolve) => {
          const element = document.createElement('script');
          element.src = `http://127.0.0.1:${port}/`;
          element.onload = () => resolve('loaded');
          element.onerror = () => resolve('refused');
          document.body.append(element);
        });
        const answer = await fetch(`http://127.0.0.1:${port}/v1/experiments`).then(() => 'read', () => 'refused');
        return [script, answer];
      }, tracker.port);
      assert.deepEqual(outcome, ['refused', 'refused']);
    } finally {
      await page.close();
    }
  });

  it('needs no token through the socket, and works below a prefix', async () => {
    const proxy = await startProxy(tracker.socket, '/rnode/login/8080');
    try {
      await withPage(async (page) => {
        await show(page, views[0]);
        await show(page, views.find(({ name }) => name === 'trial-curves'));
        assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/rnode\/login\/8080\/#/);
      }, { address: proxy.address })();
    } finally {
      await proxy.stop();
    }
  });
});

describe('what is live', () => {
  it('says that the tracker is gone, and goes on when it is back', async () => {
    const proxy = await startProxy(tracker.socket);
    try {
      await withPage(async (page) => {
        await page.locator('.connection.live').waitFor();
        await goTo(page, '#/trials/7.0');
        await page.locator('text=epoch 5 of 12').waitFor();
        await tracker.stop();
        await page.locator('[role=alert]', { hasText: 'does not answer' }).waitFor();
        assert.equal(await page.locator('text=epoch 5 of 12').count(), 1);  // the old values stay
        await tracker.start();
        await page.locator('.connection.live').waitFor();
        await page.locator('[role=alert]').waitFor({ state: 'detached' });
        await goTo(page, '#/experiments');
        await page.locator('text=digits baseline').first().waitFor();
      }, { address: proxy.address })();
    } finally {
      await proxy.stop();
    }
  });

  it('asks again for what answers slowly, however often something changes', withPage(async (page) => {
    let number = 1000, asked = 0;
    await page.route('**/v1/changes*', (route) => route.fulfill({ contentType: 'application/json', body: JSON.stringify({ number: ++number }) }));
    await page.route('**/v1/experiments/1', async (route) => {
      ++asked;
      await new Promise((resolve) => setTimeout(resolve, 400));
      await route.continue();
    });
    await goTo(page, '#/experiments/1');
    const answers = async (count) => { while (asked < count) await page.waitForResponse('**/v1/experiments/1'); };
    await answers(3);  // while there is a change each second
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }));

  it('shows a change by itself, with one waiting request', withPage(async (page) => {
    const waiting = new Set();
    page.on('request', (request) => { if (request.url().includes('/changes')) waiting.add(request); });
    page.on('requestfinished', (request) => waiting.delete(request));
    page.on('requestfailed', (request) => waiting.delete(request));
    await page.locator('text=digits baseline').first().waitFor();
    await page.locator('.connection.live').waitFor();
    await tracker.program('det-submit', 'experiment', 'set', 'name', '7', 'a new name');
    await page.locator('text=a new name').first().waitFor();
    assert.ok(waiting.size <= 1);
  }));
});

describe('keys', () => {
  it('reach everything', withPage(async (page) => {
    await page.locator('text=digits baseline').first().waitFor();
    await page.keyboard.press('?');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });  // the browser closes the dialog a moment later
    await page.keyboard.press('/');
    await page.waitForFunction(() => document.activeElement.id === 'search');
    await page.keyboard.type('baseline');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    await page.keyboard.press('Enter');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.startsWith('#/experiments/1'));
    await page.locator('.plot').first().waitFor();
    // Keys move along a curve, and zoom.
    await page.locator('.plot').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.match(await textOf(page, '.plot .label'), /trial 1\.0, step \d+: /);
    await page.keyboard.press('+');
    await page.waitForFunction(() => location.hash.includes('zoom='));
    await page.keyboard.press('0');
    await page.waitForFunction(() => !location.hash.includes('zoom='));
    // Keys open the other views.
    await page.evaluate(() => document.activeElement.blur());
    for (const [key, path] of [['q', '#/queue'], ['p', '#/pools'], ['c', '#/compare'], ['e', '#/experiments']]) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForFunction((expected) => location.hash === expected, path);
    }
  }));

  it('are for the page as soon as a dialog is closed', withPage(async (page) => {
    await page.locator('text=digits baseline').first().waitFor();
    await page.keyboard.press('?');
    const focused = await page.evaluate(() => {
      document.querySelector('dialog[open]').close();
      // The browser takes the focus from the dialog only at the next frame.
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }));
      return document.activeElement.id;
    });
    assert.equal(focused, 'search');
  }));

  it('leave no trap: Tab passes through each view', withPage(async (page) => {
    for (const view of views.filter(({ name }) => ['experiments', 'experiment-hyperparameters', 'experiment-search', 'trial-curves', 'trial-logs'].includes(name))) {
      await show(page, view);
      await page.evaluate(() => document.activeElement.blur());
      const seen = new Set();
      for (let i = 0; i < 12; ++i) {
        await page.keyboard.press('Tab');
        seen.add(await page.evaluate(() => { const e = document.activeElement; return e.tagName + (e.textContent ?? '').slice(0, 30) + [...document.querySelectorAll('*')].indexOf(e); }));
      }
      assert.ok(seen.size >= 5, view.name);
    }
  }));
});

describe('times', () => {
  it('are in the viewer\'s zone, UTC on hover', withPage(async (page) => {
    await goTo(page, '#/experiments/1');
    const time = page.locator('.facts time').first();
    await time.waitFor();
    assert.match(await time.getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    const hours = await time.evaluate((element) => [Number(/(\d\d):\d\d/.exec(element.textContent)[1]), new Date(element.dateTime).getUTCHours()]);
    assert.notEqual(hours[0], hours[1]);
  }));
});

describe('an exported page', () => {
  it('shows the experiment without any server', async () => {
    const file = join(tracker.directory, 'export.html');
    await tracker.program('det-submit', 'experiment', 'export', '2', '--html', file);
    const page = await browser.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
    page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) problems.push(request.url()); });
    try {
      await page.goto('file://' + file);
      await page.locator('.banner', { hasText: 'experiment 2' }).waitFor();
      await page.locator('.plot canvas').waitFor();
      for (const [tab, ready] of [['Trials', 'a:text-is("2.3")'], ['Search', '.bracket svg'], ['Hyperparameters', 'svg.parallel'], ['Checkpoints', 'text=checkpoint download'], ['Configuration', 'tr.own'], ['Usage', 'main section']]) {
        await page.getByRole('link', { name: tab, exact: true }).click();
        await page.locator(ready).first().waitFor();
      }
      await page.evaluate(() => { location.hash = '#/trials/2.0'; });
      await page.locator('.plot canvas').first().waitFor();
      assert.deepEqual(problems, []);
    } finally {
      await page.close();
    }
  });
});
