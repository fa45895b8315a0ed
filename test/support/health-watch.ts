import { Agent, get } from 'node:http';

/** How long `/health` took while something else went on. */
export interface HealthFigures {
  readonly asked: number;
  readonly medianMs: number;
  readonly maxMs: number;
}

/** Requests `/health` repeatedly, one request at a time on one connection, until `work` ends. */
export async function watchHealth(url: string, work: Promise<unknown>): Promise<HealthFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waitsMs: number[] = [];
  let isDone = false;
  const ended = work.finally(() => (isDone = true));
  ended.catch(() => undefined);
  while (!isDone) {
    const startMs = performance.now();
    await health(url, agent);
    waitsMs.push(performance.now() - startMs);
  }
  agent.destroy();
  await ended;
  waitsMs.sort((a, b) => a - b);
  return { asked: waitsMs.length, medianMs: waitsMs[waitsMs.length >> 1], maxMs: waitsMs.at(-1) ?? 0 };
}

function health(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/health`, { agent }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`/health was answered ${response.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}
