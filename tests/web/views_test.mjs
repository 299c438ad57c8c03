// Tests what the views show: progress, searches, the best first, small charts, importance, searching logs, all nodes, widths.
import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { axeRules, findAccessibilityProblems, findClipped, openPage, show, startBrowser, Tracker, views } from './support.mjs';

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

const withPage = (hash, work) => async () => {
  const page = await openPage(browser, tracker.address);
  try {
    await page.locator('.connection.live').waitFor();
    await goTo(page, hash);
    await work(page);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.close();
  }
};
const goTo = (page, hash) => page.evaluate((next) => { location.hash = next; }, hash);
const det = async (...words) => JSON.parse((await tracker.program('det-submit', ...words, '--json')).stdout);
/** The texts of a column of the first table that has it. */
const columnOf = (page, title) => page.evaluate((wanted) => {
  const table = [...document.querySelectorAll('table')].find((each) => [...each.querySelectorAll('thead th')].some((cell) => cell.innerText.replace(/[▲▼]/g, '').trim() === wanted));
  const at = [...table.querySelectorAll('thead th')].findIndex((cell) => cell.innerText.replace(/[▲▼]/g, '').trim() === wanted);
  return [...table.querySelectorAll('tbody tr')].map((row) => row.cells[at].innerText.trim());
}, title);
const titlesOf = (page) => page.locator('thead').first().locator('th').allInnerTexts();

describe('an experiment', () => {
  it('has the progress that det-submit says', withPage('#/experiments/7', async (page) => {
    const { progress } = await det('trial', 'describe', '7.0');
    const percent = Math.round(100 * progress) + ' %';
    assert.equal(percent, '57 %');
    await page.locator('.fact', { hasText: 'Progress' }).locator(`text=${percent}`).waitFor();
    await goTo(page, '#/experiments/7?tab=trials');
    await page.locator('table a:text-is("7.0")').waitFor();
    assert.deepEqual(await columnOf(page, 'Progress'), [percent]);
    const { experiments } = await page.evaluate(async () => (await fetch('v1/experiments', { headers: { Authorization: 'Bearer ' + sessionStorage.getItem('det-token') } })).json());
    const search = await det('experiment', 'describe', '2', '--search');
    assert.equal(experiments.find((e) => e.id === 2).progress, Number(search.progress.toPrecision(4)));
  }));

  it('distinguishes trials that the search stopped from completed ones', withPage('#/experiments/2?tab=trials', async (page) => {
    await page.locator('table a:text-is("2.3")').waitFor();
    const { decisions } = await det('experiment', 'describe', '2', '--search');
    const stopped = new Set(decisions.filter(({ decision }) => decision === 'stop').map(({ trial }) => trial));
    assert.ok(stopped.size > 5 && stopped.size < 40);
    const states = await columnOf(page, 'State');
    assert.equal(states.filter((state) => state.includes('stopped by the search')).length, stopped.size);
    assert.equal(states.filter((state) => state.includes('completed')).length, 40 - stopped.size);
    const colours = await page.evaluate(() => ['.state.cut', '.state.good'].map((look) => getComputedStyle(document.querySelector('td ' + look)).color));
    assert.notEqual(colours[0], colours[1]);
    await goTo(page, `#/trials/2.${[...stopped][0]}`);
    await page.locator('h1', { hasText: 'stopped by the search' }).waitFor();
  }));

  it('shows the best trials first at the first click, whatever is better', withPage('#/experiments', async (page) => {
    let isSmallerBetter = true;
    await page.route(/\/v1\/experiments\/3$/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      body.answer.config.searcher.smaller_is_better = isSmallerBetter;
      await route.fulfill({ response, json: body });
    });
    for (const isSmaller of [true, false]) {
      isSmallerBetter = isSmaller;
      await goTo(page, '#/experiments');
      await page.locator('text=digits baseline').first().waitFor();
      await goTo(page, '#/experiments/3?tab=trials');
      await page.locator('table a:text-is("3.3")').waitFor();
      await page.getByRole('button', { name: 'Best loss' }).click();
      await page.waitForFunction(() => location.hash.includes('sort='));
      const values = (await columnOf(page, 'Best loss')).map(Number);
      assert.deepEqual(values, [...values].sort((a, b) => (isSmaller ? a - b : b - a)));
    }
    await page.unrouteAll({ behavior: 'wait' });
  }));

  it('shows hyperparameters before how its trials ended', withPage('#/experiments/3?tab=trials', async (page) => {
    await page.locator('table a:text-is("3.3")').waitFor();
    const titles = await titlesOf(page);
    assert.ok(titles.indexOf('learning_rate') > 0);
    assert.ok(titles.indexOf('learning_rate') < titles.indexOf('How it ended'), titles.join());
  }));

  it('with one trial has its logs, system metrics and runs at one click', withPage('#/experiments/1', async (page) => {
    for (const [name, ready] of [['Logs', '.log .line'], ['System', '.plot canvas'], ['Runs', 'svg.time-line']]) {
      await goTo(page, '#/experiments/1');
      await page.locator('nav.tabs').getByRole('link', { name, exact: true }).click();
      await page.locator(ready).first().waitFor();
      assert.match(page.url(), /#\/trials\/1\.0/);
    }
    await goTo(page, '#/experiments/2');
    await page.locator('.plot canvas').waitFor();
    assert.equal(await page.locator('nav.tabs').getByRole('link', { name: 'Logs', exact: true }).count(), 0);
  }));

  it('says what was done to it and by whom', withPage('#/experiments/1?tab=events', async (page) => {
    await page.locator('section[aria-label=History] tbody tr', { hasText: 'created' }).waitFor();
    assert.ok((await page.locator('section[aria-label=History] tbody').innerText()).includes(userInfo().username + '@'));
  }));
});

describe('metrics', () => {
  it('are all shown as small charts, in groups by prefix, with a search field', withPage('#/trials/7.0', async (page) => {
    await page.locator('.plot canvas').first().waitFor();
    assert.deepEqual(await page.locator('details.group summary h2').allInnerTexts(), ['without prefix 3', 'gradients 12']);
    await page.locator('#search').fill('layer7');
    await page.waitForFunction(() => document.querySelectorAll('figure.chart').length === 1);
    assert.match(page.url(), /m=layer7/);
    await page.locator('[role=status]', { hasText: '1 of 15 charts' }).waitFor();
    await page.locator('#search').fill('nothing like this');
    await page.locator('.empty', { hasText: 'No metric has such a name' }).waitFor();
  }));

  it('of all trials of an experiment too, each asked for once it is in view', withPage('#/experiments/7', async (page) => {
    await page.locator('.plot canvas').first().waitFor();
    const asked = new Set();
    page.on('request', (request) => { if (request.url().includes('/series')) asked.add(new URL(request.url()).searchParams.get('metric')); });
    await page.setViewportSize({ width: 390, height: 500 });
    await page.locator('label.choice', { hasText: 'Metric' }).locator('select').first().selectOption('*');
    await page.locator('.charts.small .plot canvas').first().waitFor();
    const all = await page.locator('.charts.small > .cell').count();
    assert.ok(all > 10 && asked.size < all, `${asked.size} of ${all}`);
    await page.locator('.charts.small > .cell').last().scrollIntoViewIfNeeded();
    await page.locator('.charts.small > .cell').last().locator('canvas').waitFor();
  }));
});

describe('hyperparameters', () => {
  it('have their importance beside the axes, with the method', withPage('#/experiments/3?tab=hyperparameters', async (page) => {
    await page.locator('figure.importance tr').first().waitFor();
    const rows = await page.locator('figure.importance tr').allInnerTexts();
    // The loss of the example depends on the learning rate, with its best in the middle, and a little on dropout.
    assert.match(rows[0], /^learning_rate\s+\d+ %/);
    const shares = rows.map((row) => Number(/(\d+) %/.exec(row)[1]));
    assert.ok(shares[0] >= 50 && shares.slice(1).every((share) => share < shares[0] - 20), rows.join());
    assert.match(await page.locator('figure.importance figcaption').innerText(), /variance of the ranks of loss .*ε².*24 trials, which are few/);
    assert.equal(await page.locator('svg.parallel .axis text', { hasText: /^\d+ %/ }).count(), shares.length);
  }));
});

describe('the log', () => {
  it('marks what is searched, and shows the lines around a match', withPage('#/trials/1.0?tab=logs&grep=step%20321%20', async (page) => {
    await page.locator('.log mark').first().waitFor();
    assert.deepEqual([...new Set(await page.locator('.log mark').allInnerTexts())], ['step 321 ']);
    assert.equal(await page.locator('.log .line').count(), 8);
    await page.getByRole('button', { name: /^Lines around this one/ }).nth(2).click();
    await page.locator('.log .line.wanted', { hasText: 'step 321 ' }).waitFor();
    const lines = await page.locator('.log .line').allInnerTexts();
    assert.ok(lines.some((line) => line.includes('step 320 ')) && lines.some((line) => line.includes('step 322 ')), lines.join('\n'));
    const place = await page.evaluate(() => {
      const line = document.querySelector('.log .line.wanted').getBoundingClientRect(), box = document.querySelector('.log').getBoundingClientRect();
      return line.top >= box.top && line.bottom <= box.bottom;
    });
    assert.ok(place, 'the line is in view');
    await page.getByRole('button', { name: 'back to all matches' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.log .line').length === 8);
  }));

  it('is that of several ranks', withPage('#/trials/1.0?tab=logs&rank=2,5', async (page) => {
    await page.locator('.log .line').first().waitFor();
    assert.deepEqual([...new Set(await page.locator('.log .rank').allInnerTexts())].sort(), ['2', '5']);
  }));
});

describe('system metrics', () => {
  it('are those of all nodes in one view, in units with k, M or G', withPage('#/trials/1.0?tab=system', async (page) => {
    const chart = page.locator('figure.chart', { hasText: 'memory_free' });
    await chart.locator('.legend li').nth(1).waitFor();
    assert.deepEqual(await chart.locator('.legend li').allInnerTexts(), ['node1', 'node2']);
    assert.ok((await columnOf(page, 'Mean')).some((text) => /^\d+ GB$/.test(text)));
    const gpus = page.locator('figure.chart', { hasText: 'gpu_util' });
    await gpus.locator('.legend li').nth(7).waitFor();
    await page.locator('label.choice', { hasText: 'Node' }).locator('select').last().selectOption('1');
    await page.waitForFunction(() => [...document.querySelectorAll('figure.chart')].every((each) => !each.innerText.includes('node1')));
    await gpus.locator('.legend li').nth(3).waitFor();
    assert.equal(await gpus.locator('.legend li').count(), 4);
  }));
});

describe('the width', () => {
  it('is used by charts', withPage('#/experiments/1', async (page) => {
    for (const width of [1024, 1440, 2200]) {
      await page.setViewportSize({ width, height: 860 });
      for (const [hash, selector] of [['#/experiments/1', '.plot'], ['#/experiments/3?tab=hyperparameters', 'svg.parallel'], ['#/experiments/3?tab=hyperparameters', 'svg.scatter'], ['#/trials/5.0?tab=runs', 'svg.time-line']]) {
        await goTo(page, hash);
        await page.locator(selector).first().waitFor();
        await page.waitForFunction(([wanted, least]) => document.querySelector(wanted).getBoundingClientRect().width > least, [selector, 0.9 * width - 40]);
      }
    }
  }));

  it('of 1440, 1024 and 390 pixels clips nothing, and axe finds nothing', withPage('#/experiments', async (page) => {
    // The structure does not depend on the theme, and colours do not depend on the width.
    const looks = [['light', 1440, axeRules.all], ['dark', 1440, axeRules.colours], ['light', 1024, axeRules.withoutColours], ['dark', 390, axeRules.withoutColours]];
    const found = [];
    for (const view of views) {
      for (const [theme, width, rules] of looks) {
        await page.emulateMedia({ colorScheme: theme });
        await page.setViewportSize({ width, height: 900 });
        await show(page, view);
        await page.waitForFunction(() => [...document.querySelectorAll('.plot .axes')].every((chart) => chart.clientWidth === chart.parentElement.clientWidth));
        const name = `${view.name}, ${theme}, ${width} pixels: `;
        found.push(...(await findAccessibilityProblems(page, rules)).map((problem) => name + problem), ...(await findClipped(page)).map((problem) => name + problem));
      }
    }
    assert.deepEqual(found, []);
  }));
});
