import { readFileSync } from 'node:fs';
import { request } from 'node:http';

/**
 * Started with a URL and, for each request, a content encoding and a file with its body: sends them all at once and
 * prints their statuses. A process of its own, so that handing over hundreds of megabytes does not delay what the
 * test measures.
 */
const [url, encoding, ...paths] = process.argv.slice(2);

function send(path: string): Promise<number> {
  const body = readFileSync(path);
  const headers = {
    'content-length': body.length,
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

process.stdout.write(JSON.stringify(await Promise.all(paths.map(send))));
