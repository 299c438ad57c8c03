// Measures the rows of tests/bench/web: bench.mjs DIRECTORY. The directory has the roots runs, million, list and logs. The variable
// DET_BENCH_ROWS names the roots to measure, separated by spaces; the root running is made here.
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, spawn, startBrowser, Tracker } from './support.mjs';
import { recordRepeatedRequests, Viewer } from './viewers.mjs';

const directory = process.argv[2];
const wanted = process.env.DET_BENCH_ROWS.split(' ');
const repetitions = 20;
const bundle = join(import.meta.dirname, '../../runtime/tracker/web/bundle');

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const percentile95 = (values) => values.sort((a, b) => a - b)[Math.floor(values.length * 0.95)];

function printRow(name, ours, peer, unit) {
  console.log(JSON.stringify({ name: 'web-' + name, ours: Number(ours.toPrecision(4)), peer: Number(peer.toPrecision(4)), ratio: Number((ours / peer).toPrecision(4)), unit, better: 'lower' }));
}

/** Makes the index of a root, starts a tracker of it, and runs work with its page. Does nothing if the root is not wanted. */
async function withTracker(root, work) {
  if (!wanted.includes(root)) return;
  const tracker = new Tracker();
  tracker.environment.DET_ROOT = join(directory, root);
  chmodSync(tracker.environment.DET_ROOT, 0o700);
  await tracker.program('det-tracker', 'rebuild');
  await tracker.start();
  const browser = await startBrowser(tracker.directory);
  browser.setDefaultTimeout(60_000);
  try {
    const page = await browser.newPage();
    // drawn(): milliseconds from the start of the navigation until a frame with an element that matches the selector was drawn.
    await page.addInitScript(() => {
      window.drawn = (selector) => new Promise((resolve) => {
        const check = () => (document.querySelector(selector) ? requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))) : requestAnimationFrame(check));
        check();
      });
    });
    await page.goto(tracker.address);
    await page.locator('.connection.live').waitFor();
    await work(page, tracker);
  } finally {
    await browser.close();
    await tracker.end();
  }
}

async function timeLoads(page, hash, selector) {
  const times = [];
  for (let i = 0; i < repetitions; ++i) {
    await page.evaluate((next) => { location.hash = next; }, hash);
    await page.reload({ waitUntil: 'commit' });
    times.push(await page.evaluate((wanted) => window.drawn(wanted), selector));
  }
  return median(times) / 1000;
}

await withTracker('runs', async (page) => {
  printRow('first-paint-200x10k', await timeLoads(page, '#/experiments/1?metric=training.loss', '.plot canvas'), 1, 's');
});

await withTracker('million', async (page) => {
  await page.evaluate(() => { location.hash = '#/experiments/1?metric=training.loss'; });
  await page.locator('.plot canvas').waitFor();
  const times = [];
  for (let i = 0; i < repetitions; ++i) {
    times.push(await page.evaluate(async (begin) => {
      const before = performance.now();
      const answered = new Promise((resolve) => {
        const original = window.fetch;
        window.fetch = async (...request) => {
          const response = await original(...request);
          if (String(request[0]).includes('from=')) { window.fetch = original; response.clone().text().then(resolve); }
          return response;
        };
      });
      location.hash = `#/experiments/1?metric=training.loss&zoom=${begin},${begin + 100000}`;
      await answered;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return performance.now() - before;
    }, 20000 * (i + 1)));
  }
  printRow('zoom-million', median(times) / 1000, 0.1, 's');
});

await withTracker('list', async (page) => {
  printRow('list-10k', await timeLoads(page, '#/experiments', 'tr[data-row="20"]'), 0.3, 's');
  printRow('list-10k-all', await timeLoads(page, '#/experiments', 'table[aria-rowcount="10001"]'), 0.3, 's');
});

/** Scrolls an element a little in each frame. Returns the times between frames, in milliseconds. */
const scroll = (page, selector) => page.evaluate(async (wanted) => {
  const element = document.querySelector(wanted);
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < 400; ++frame) {
    element.scrollTop -= 90;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}, selector);

await withTracker('logs', async (page) => {
  const ours = [], peer = [];
  for (let i = 0; i < 5; ++i) {
    await page.evaluate(() => { location.hash = '#/experiments'; });
    await page.evaluate(() => { location.hash = '#/trials/1.0?tab=logs'; });
    await page.locator('.log .line').first().waitFor();
    ours.push(percentile95(await scroll(page, '.log')));
    // To compare: a static box of the same height with the drawn lines, 31 times each, so that it can scroll.
    await page.evaluate(() => {
      const copy = document.querySelector('.log').cloneNode(true);
      copy.id = 'static';
      const lines = copy.querySelector('.lines');
      lines.style.transform = 'none';
      copy.firstElementChild.style.height = '';
      for (const line of [...lines.children]) for (let n = 0; n < 30; ++n) lines.append(line.cloneNode(true));
      document.querySelector('.log').replaceWith(copy);
      copy.scrollTop = copy.scrollHeight;
    });
    peer.push(percentile95(await scroll(page, '#static')));
    await page.reload();
  }
  printRow('log-frame-p95', median(ours), median(peer), 'ms');
});

const viewerCount = 50;
const measuredMs = 20_000;
const ticksPerSecond = 100;  // sysconf(_SC_CLK_TCK)

/** Processor time of a process and of its children that it has waited for, in seconds. */
function processorTime(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
}

/** Measures for 20 seconds the share of a core that a process uses. */
async function measureShare(pid) {
  const before = processorTime(pid), begin = performance.now();
  await new Promise((resolve) => setTimeout(resolve, measuredMs));
  return (processorTime(pid) - before) / (performance.now() - begin) * 1000;
}

/** Makes the root 'running' and runs work while its trials report once a second. */
async function whileReporting(work) {
  const writer = spawn(join(build, 'tests/bench-tracker-root'), [join(directory, 'running'), '1', '8', '10000', '--running'], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await new Promise((resolve, reject) => { writer.stdout.once('data', resolve); writer.once('exit', () => reject(new Error('bench-tracker-root has ended'))); });
    await work();
  } finally {
    writer.stdin.end();
  }
}

if (wanted.includes('running')) await whileReporting(() => withTracker('running', async (page, tracker) => {
  const { pid } = JSON.parse((await tracker.program('det-tracker', 'status', '--json')).stdout);
  const token = /token=(.*)$/.exec(tracker.address)[1];
  await page.evaluate(() => { location.hash = '#/experiments/1'; });
  await page.locator('.plot canvas').waitFor();
  const paths = await recordRepeatedRequests(page, 20_000);
  await page.goto('about:blank');
  const alone = await measureShare(pid);
  const viewers = Array.from({ length: viewerCount }, () => new Viewer(tracker.port, token, paths));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const watched = await measureShare(pid);
  viewers.forEach((viewer) => viewer.end());
  const sum = (key) => viewers.reduce((total, viewer) => total + viewer[key], 0);
  console.error(`web-viewers-50: each asks for ${paths.join(' ')}; ${sum('answers')} answers of ${Math.round(sum('bytes') / 1024)} KiB, ${sum('failures')} failures; without viewers ${(100 * alone).toFixed(2)} % of a core`);
  if (sum('failures') > 0) throw viewers.find(({ lastProblem }) => lastProblem).lastProblem;
  printRow('viewers-50', watched - alone, 0.05, 'of a core');
}));

const size = readdirSync(bundle).reduce((sum, name) => sum + gzipSync(readFileSync(join(bundle, name)), { level: 9 }).length, 0);
printRow('bundle', size / 1024, 70, 'KB');
