// Used by the tests of the page: a tracker with experiments, a proxy in front of it, a browser.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

export const build = process.env.DET_BUILD_DIR ?? join(import.meta.dirname, '../../build/dev');
const run = promisify(execFile);
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A tracker with a root in a temporary directory, without Slurm. */
export class Tracker {
  constructor() {
    // Beside the build, which is on a local disk: the tracker writes its index only to local disks.
    this.directory = mkdtempSync(join(build, 'web-'));
    const runtime = join(this.directory, 'runtime');
    mkdirSync(runtime, { mode: 0o700 });
    this.environment = {
      ...process.env, DET_ROOT: join(this.directory, 'root'), XDG_RUNTIME_DIR: runtime, DET_INDEX_DIR: join(this.directory, 'index'),
      SLURM_CONF: join(this.directory, 'no-slurm.conf'), TZ: 'UTC',
    };
    delete this.environment.DET_SITE;
  }
  async makeExamples() {
    await run(join(build, 'tests/web-root'), [this.directory], { env: this.environment });
    await run('chmod', ['700', this.environment.DET_ROOT]);
  }
  program(name, ...words) {
    return run(join(build, 'bin', name), words, { env: this.environment, maxBuffer: 1 << 28 });
  }
  /** Starts the tracker, and sets `address` (with the token), `socket` and `port`. */
  async start() {
    const { stdout } = await this.program('det-submit', 'web', '--no-browser', '--json');
    Object.assign(this, JSON.parse(stdout));
    this.port = Number(new URL(this.address).port);
  }
  stop() {
    return this.program('det-tracker', 'stop');
  }
  async end() {
    await this.stop().catch(() => {});
    rmSync(this.directory, { recursive: true, force: true });
  }
  runsFile(trial, runNumber, name) {
    const [experiment, index] = trial.split('.');
    return join(this.environment.DET_ROOT, 'experiments', experiment, 'trials', index, 'runs', String(runNumber), name);
  }
}

/** Forwards requests to the tracker's socket, as `ssh -L` does, or below a prefix, as Open OnDemand does. */
export async function startProxy(socket, prefix = '') {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(prefix + '/')) {
      response.writeHead(404).end();
      return;
    }
    const forwarded = http.request({ socketPath: socket, agent, path: request.url.slice(prefix.length), method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}${prefix}/`,
    stop: () => {
      agent.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts a browser with a new profile below a directory. */
export async function startBrowser(directory, options = {}) {
  return await chromium.launchPersistentContext(mkdtempSync(join(directory, 'chromium-')), {
    executablePath: '/usr/bin/chromium', headless: true, viewport: { width: 1280, height: 860 }, timezoneId: 'Europe/Berlin', locale: 'en-GB', ...options,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** Opens a page. Records in page.problems what must not happen: errors of its scripts, and requests to other servers. */
export async function openPage(browser, address, options = {}) {
  const page = await browser.newPage();
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push('error: ' + error.message));
  page.on('console', (message) => {
    // The page itself shows that a request was refused.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) page.problems.push('console: ' + message.text());
  });
  const origin = new URL(address).origin;
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:') && !request.url().startsWith('blob:')) page.problems.push('foreign request: ' + request.url());
  });
  if (options.theme) await page.emulateMedia({ colorScheme: options.theme });
  if (options.width) await page.setViewportSize({ width: options.width, height: 800 });
  await page.goto(address);
  return page;
}

/** The rules that axe checks: all, only those that depend on colours, or only those that do not. */
export const axeRules = {
  all: { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  colours: { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
  withoutColours: { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], rules: { 'color-contrast': { enabled: false }, 'link-in-text-block': { enabled: false } } },
};

/** Runs axe. Returns its findings as short lines. */
export async function findAccessibilityProblems(page, rules = axeRules.all) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource);
  const { violations } = await page.evaluate((options) => window.axe.run(document, { ...options, resultTypes: ['violations'] }), rules);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n').slice(1, 3).join(' ') ?? ''}`));
}

/** Text that can not be read: cut off by its element, beyond the window, or beyond its picture. What has a title or scrolls can be read. */
export const findClipped = (page) => page.evaluate(() => {
  const found = [];
  const nameOf = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} '${(element.textContent ?? '').slice(0, 50)}'`;
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} pixels wide`);
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    if (box.width < 2 || element.closest('.unseen, .skip, [aria-hidden=true], dialog:not([open]), svg, .plot')) continue;
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
    const cuts = /hidden|clip/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (cuts && !element.title && !element.querySelector('[title]')) found.push('cut off: ' + nameOf(element));
    if (hasText && (box.right > innerWidth + 1 || box.left < -1) && !element.closest('.scroll, .log, pre, .editor, [title]')) found.push('beyond the window: ' + nameOf(element));
  }
  for (const text of document.querySelectorAll('svg text')) {
    const box = text.getBoundingClientRect(), picture = text.ownerSVGElement.getBoundingClientRect();
    if (box.width > 0 && (box.left < picture.left - 1 || box.right > picture.right + 1 || box.bottom > picture.bottom + 1)) found.push('beyond its picture: ' + nameOf(text));
  }
  return found;
});

/** All views. ready: the selector of an element that is there when the view has its data. */
export const views = [
  { name: 'experiments', hash: '#/experiments', ready: 'table a:has-text("digits baseline")' },
  { name: 'experiment-curves', hash: '#/experiments/2', ready: '.plot canvas' },
  { name: 'experiment-trials', hash: '#/experiments/2?tab=trials', ready: 'table a:text-is("2.3")' },
  { name: 'experiment-hyperparameters', hash: '#/experiments/3?tab=hyperparameters', ready: 'svg.parallel' },
  { name: 'experiment-search', hash: '#/experiments/2?tab=search', ready: '.bracket svg' },
  { name: 'experiment-checkpoints', hash: '#/experiments/1?tab=checkpoints', ready: 'text=checkpoint download' },
  { name: 'experiment-config', hash: '#/experiments/1?tab=config', ready: 'text=max_restarts' },
  { name: 'experiment-usage', hash: '#/experiments/5?tab=usage', ready: '.bar-chart' },
  { name: 'experiment-history', hash: '#/experiments/1?tab=events', ready: 'text=created' },
  { name: 'experiment-all-metrics', hash: '#/experiments/7?metric=*', ready: '.charts.small .plot canvas' },
  { name: 'experiment-failed', hash: '#/experiments/4', ready: '.note.bad' },
  { name: 'trial-curves', hash: '#/trials/1.0', ready: '.plot canvas' },
  { name: 'trial-runs', hash: '#/trials/5.0?tab=runs', ready: 'svg.time-line rect.training' },
  { name: 'trial-system', hash: '#/trials/1.0?tab=system', ready: '.plot canvas' },
  { name: 'trial-clusterinfo', hash: '#/trials/1.0?tab=info', ready: 'text=allocation_id' },
  { name: 'trial-many-metrics', hash: '#/trials/7.0', ready: '.plot canvas' },
  { name: 'trial-logs-search', hash: '#/trials/1.0?tab=logs&grep=step%20321%20', ready: '.log mark' },
  { name: 'trial-logs', hash: '#/trials/1.0?tab=logs', ready: '.log .line' },
  { name: 'trial-failed', hash: '#/trials/4.0', ready: '.note.bad pre' },
  { name: 'compare', hash: '#/compare?ids=1,2,5', ready: '.plot canvas' },
  { name: 'queue', hash: '#/queue', ready: 'main h1' },
  { name: 'pools', hash: '#/pools', ready: 'main h1' },
  { name: 'hostile', hash: '#/experiments/6', ready: '.plot canvas' },
];

/** Opens a view in an open page, and waits for its data. */
export async function show(page, view) {
  await page.evaluate((hash) => { location.hash = hash; }, view.hash);
  await page.locator(view.ready).first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.loading').length === 0);
}

export { run, spawn };
