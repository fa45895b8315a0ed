import { createServer } from 'node:net';

/** Below what the system takes for outgoing connections, so that none of those takes a port before its server does. */
const PORT_MIN = 12_000;
const PORT_MAX = 32_000;
/** Mocha numbers the processes in which it runs files at once: each of these takes its ports from a range of its own. */
const WORKER_PORTS = 4_000;

const worker = process.env['MOCHA_WORKER_ID'];
const from = worker === undefined ? PORT_MIN : PORT_MIN + (Number(worker) % 5) * WORKER_PORTS;
const to = worker === undefined ? PORT_MAX : from + WORKER_PORTS;
// Runs of the tests at the same time begin in different places.
let last = from + Math.floor(Math.random() * (to - from));

/** A port of the loopback that nothing listens on. This process gives it out once. */
export async function freePort(): Promise<number> {
  for (;;) {
    last = last + 1 < to ? last + 1 : from;
    const port = last;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
