#!/usr/bin/env node
// Makes the picture of the page in README.md of a real search, as root: page.mjs. It starts a Slurm of two nodes on this machine, runs the
// search of ../hyperparameter-search.md with more trials and batches, and opens its page. It needs what tests/web/run needs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, openPage, show, startBrowser } from '../../tests/web/support.mjs';
import { SlurmSite } from '../../tests/web/slurm_site.mjs';

const here = import.meta.dirname;
const guide = readFileSync(join(here, '../hyperparameter-search.md'), 'utf8');
/** The block of the guide below the line "`NAME`:". */
const block = (name) => guide.split(`\n\`${name}\`:\n`)[1].split(/```\w+\n/)[1].split('```')[0];
const config = block('search.yaml').replace(/batches: 16/, 'batches: 96').replace(/max_trials: 8/, 'max_trials: 12')
  .replace(/max_rungs: 2/, 'max_rungs: 3').replace(/max_concurrent_trials: 4/, 'max_concurrent_trials: 8');
const train = block('search/train.py').replace('import determined as det', 'import time\n\nimport determined as det')
  .replace('        step += 1\n', '        step += 1\n        time.sleep(0.02)\n').replace('step % 4', 'step % 2');

const site = new SlurmSite();
const profiles = mkdtempSync(join(build, 'picture-'));
let browser;
try {
  await site.start('--nodes', '2', '--slots', '4', '--no-plugin');
  const shell = (script) => site.shell(script);
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  await shell(`mkdir search; printf %s ${quoted(config)} >search.yaml; printf %s ${quoted(train)} >search/train.py; export DET_ROOT=$HOME/root; ` +
    'det-submit experiment create search.yaml search && det-submit experiment wait search --timeout 200');
  await site.startTracker('$HOME/root');
  browser = await startBrowser(profiles);
  const page = await openPage(browser, site.address, { theme: 'light', width: 1280 });
  await show(page, { hash: '#/experiments/1', ready: '.plot canvas' });
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);  // for parts that load after the view
  writeFileSync(join(here, 'page.png'), await page.screenshot());
} finally {
  await browser?.close();
  await site.stop();
  rmSync(profiles, { recursive: true, force: true });
}
