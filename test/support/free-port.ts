import { createServer } from 'node:net';

/** Below what the system takes for outgoing connections, so that none of those takes a port before its server does. */
const PORT_MIN = 12_000;
const PORT_MAX = 32_000;

// Processes that run at once begin in different places.
let last = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));

/** A port of the loopback that nothing listens on. This process gives it out once. */
export async function freePort(): Promise<number> {
  for (;;) {
    last = last >= PORT_MAX ? PORT_MIN : last + 1;
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
