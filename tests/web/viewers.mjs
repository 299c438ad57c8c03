// Simulated viewers of the page, without browsers: each sends the requests of a page over its own connections.
import http from 'node:http';

/** Records the requests of an open page for a while. Returns those sent twice or more, without the one that waits for changes. */
export async function recordRepeatedRequests(page, durationMs) {
  const counts = new Map();
  const count = (request) => {
    const url = new URL(request.url());
    if (url.pathname.startsWith('/v1/') && url.pathname !== '/v1/changes') counts.set(url.pathname + url.search, (counts.get(url.pathname + url.search) ?? 0) + 1);
  };
  page.on('request', count);
  await page.waitForTimeout(durationMs);
  page.off('request', count);
  return [...counts].filter(([, times]) => times >= 2).map(([path]) => path);
}

/** One viewer. Like api.ts it has one request that waits for changes, and sends all others after each change. */
export class Viewer {
  constructor(port, token, paths) {
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 6 });
    Object.assign(this, { port, token, paths, isOver: false, answers: 0, bytes: 0, failures: 0 });
    this.done = this.run();
  }
  get(path) {
    return new Promise((resolve, reject) => {
      const request = http.get({ host: '127.0.0.1', port: this.port, path, agent: this.agent, headers: { Authorization: 'Bearer ' + this.token, 'Accept-Encoding': 'gzip' } }, (response) => {
        const pieces = [];
        response.on('data', (piece) => pieces.push(piece));
        response.on('end', () => (response.statusCode === 200 ? resolve(Buffer.concat(pieces)) : reject(new Error('status ' + response.statusCode))));
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  }
  async run() {
    let known;
    while (!this.isOver) {
      const begin = Date.now();
      try {
        const { number } = JSON.parse(await this.get('/v1/changes' + (known === undefined ? '' : `?after=${known}&wait=30`)));
        const hasChanged = number !== known;
        known = number;
        if (hasChanged) await Promise.all(this.paths.map(async (path) => { this.bytes += (await this.get(path)).length; this.answers += 1; }));
      } catch (problem) {
        if (this.isOver) return;
        this.failures += 1;
        this.lastProblem = problem;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (Date.now() - begin))));
    }
  }
  end() {
    this.isOver = true;
    this.agent.destroy();
  }
}
