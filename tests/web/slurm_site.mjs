// Starts a tracker on the login node of a private real Slurm (site-configs/loopback). Needs root and Slurm.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from './support.mjs';

const run = promisify(execFile);
const loopback = join(build, 'bin/det-loopback');

/** The reason why no site can be started here; undefined if one can. */
export function whyNoSite() {
  if (process.getuid() !== 0) return 'it needs root';
  try {
    accessSync(loopback, constants.X_OK);
    execFileSync('sh', ['-c', 'command -v slurmctld slurmd munged'], { stdio: 'ignore', env: { ...process.env, PATH: process.env.PATH + ':/usr/sbin:/sbin' } });
  } catch {
    return 'there is no Slurm';
  }
  return undefined;
}

// Forwards connections to the tracker's socket, as `ssh -L` does. It runs as the user, because only the user may connect to the socket.
const relay = `
const net = require('net');
const server = net.createServer((client) => {
  const tracker = net.connect(process.argv[1]);
  client.pipe(tracker).pipe(client);
  client.on('error', () => tracker.destroy());
  tracker.on('error', () => client.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

export class SlurmSite {
  constructor() {
    this.name = 'web' + process.pid;
  }
  async start(...options) {
    await run(loopback, ['up', '--name', this.name, ...options]);
    this.home = (await this.shell('cd && pwd')).trim();
  }
  /** Kills or starts a daemon of the site. */
  daemon(action, name) {
    return run(loopback, ['daemon', '--name', this.name, action, name]);
  }
  /** Runs a shell script on the login node, in the home directory of researcher or of another user. */
  async shell(script, user = 'researcher') {
    const environment = 'export XDG_RUNTIME_DIR=$HOME/run DET_INDEX_DIR=$HOME/index TZ=UTC; mkdir -p -m 700 "$XDG_RUNTIME_DIR"; ';
    const { stdout } = await run(loopback, ['login', '--name', this.name, '--user', user, '--', 'bash', '-c', 'set -eu; cd; ' + environment + script], { maxBuffer: 1 << 26 });
    return stdout;
  }
  /** Starts a tracker of the root, and sets `address` to the address of its page; with actions, with its token. */
  async startTracker(root = '', options = '') {
    const { socket, address, actions } = JSON.parse(await this.shell(`${root && `export DET_ROOT=${root};`} det-submit web --no-browser --json ${options}`));
    this.socket = socket;
    this.port = Number(new URL(address).port);
    this.token = new URL(address).hash.replace('#token=', '');
    const [uid, gid] = (await this.shell('id -u; id -g')).trim().split('\n').map(Number);
    this.relay = spawn(process.execPath, ['-e', relay, socket], { uid, gid, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
    const port = await new Promise((resolve, reject) => {
      this.relay.stdout.once('data', (text) => resolve(Number(text)));
      this.relay.once('exit', () => reject(new Error('the relay to the tracker ended')));
    });
    this.address = `http://localhost:${port}/${actions ? '#token=' + this.token : ''}`;
  }
  async stop() {
    this.relay?.kill();
    await run(loopback, ['down', '--name', this.name]);
  }
}

/** Calls ask() until it returns a true value. */
export async function waitUntil(what, ask, timeoutMs = 60_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error('in vain waited until ' + what);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
