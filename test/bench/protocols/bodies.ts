import { compressSync } from 'snappy';

import { WireWriter } from '#shared/protobuf/wire-writer';

import type { SeededRandom } from '../tsbs/seeded-random.js';

/** How one protocol is loaded. */
export interface ProtocolLoad {
  readonly path: string;
  readonly contentType: string;
  /** Records of one request. */
  readonly batch: number;
  /** Records for each of the plan; default 1. Metrics have points of the same series again and again. */
  readonly scale?: number;
  /** A request before the load. */
  readonly setup?: { readonly path: string; readonly contentType: string; readonly body: string };
  /** Table to flush after the load. */
  readonly table: string;
  /** Returns the body of request `index`. */
  readonly body: (index: number, batch: number, random: SeededRandom) => Buffer;
}

const START_NS = 1_700_000_000_000_000_000n;
const PROTOBUF = 'application/x-protobuf';
const BYTES = 2;
const VARINT = 0;
const FIXED64 = 1;
const WORDS =
  'request served user order payment timeout cache miss from upstream retry after queue full shard node'.split(' ');

/** The loads of all protocols but line protocol and remote write, which have scenarios of their own. */
export const PROTOCOL_LOADS: Readonly<Record<string, ProtocolLoad>> = {
  'otlp-metrics': {
    path: '/v1/otlp/v1/metrics',
    contentType: PROTOBUF,
    batch: 2_000,
    scale: 8,
    table: 'almanac_physical_table',
    body: metricsBody,
  },
  'otlp-logs': {
    path: '/v1/otlp/v1/logs',
    contentType: PROTOBUF,
    batch: 1_000,
    table: 'opentelemetry_logs',
    body: logsBody,
  },
  'otlp-traces': {
    path: '/v1/otlp/v1/traces',
    contentType: PROTOBUF,
    batch: 1_000,
    table: 'opentelemetry_traces',
    body: tracesBody,
  },
  loki: {
    path: '/v1/loki/api/v1/push',
    contentType: PROTOBUF,
    batch: 1_000,
    table: 'loki_logs',
    body: lokiBody,
  },
  splunk: {
    path: '/v1/splunk/services/collector/event',
    contentType: 'application/json',
    batch: 1_000,
    table: 'splunk_logs',
    body: splunkBody,
  },
  elasticsearch: {
    path: '/v1/elasticsearch/_bulk',
    contentType: 'application/x-ndjson',
    batch: 1_000,
    table: 'logs',
    body: elasticsearchBody,
  },
};

class MessageWriter extends WireWriter {
  part(field: number, write: () => void): void {
    this.message((field << 3) | BYTES, write);
  }

  string(field: number, text: string): void {
    this.text((field << 3) | BYTES, text);
  }

  integer(field: number, value: number): void {
    this.byte((field << 3) | VARINT);
    this.varint(value);
  }

  time(field: number, ns: bigint): void {
    this.byte((field << 3) | FIXED64);
    this.words(Number(BigInt.asIntN(32, ns)), Number(BigInt.asIntN(32, ns >> 32n)));
  }

  attribute(field: number, key: string, value: string | number): void {
    this.part(field, () => {
      this.string(1, key);
      this.part(2, () => (typeof value === 'string' ? this.string(1, value) : this.integer(3, value)));
    });
  }
}

function request(scopeName: string, service: string, items: (out: MessageWriter) => void): Buffer {
  const out = new MessageWriter();
  out.part(1, () => {
    out.part(1, () => {
      out.attribute(1, 'service.name', service);
      out.attribute(1, 'service.namespace', 'shop');
      out.attribute(1, 'service.version', '1.14.2');
      out.attribute(1, 'k8s.pod.name', `${service}-6d4cf56db6-x2x7k`);
      out.attribute(1, 'cloud.region', 'eu-north-1');
    });
    out.part(2, () => {
      out.part(1, () => out.string(1, scopeName));
      items(out);
    });
  });
  return out.take();
}

/** 20 hosts with 200 metrics of ten points each, which are 40,000 series. */
function metricsBody(index: number, batch: number, random: SeededRandom): Buffer {
  const hosts = 20;
  const step = Math.floor(index / hosts);
  const timeNs = START_NS + BigInt(step) * 15_000_000_000n;
  const points = 10;
  return request('meter', `service-${index % hosts}`, (out) => {
    for (let metric = 0; metric < batch / points; metric++) {
      out.part(2, () => {
        out.string(1, `app.load.metric_${metric}`);
        out.part(5, () => {
          for (let point = 0; point < points; point++) {
            out.part(1, () => {
              out.attribute(7, 'host.name', `host-${index % hosts}.example.com`);
              out.attribute(7, 'device', `device-${point}`);
              out.attribute(7, 'state', 'active');
              out.time(3, timeNs);
              out.byte((4 << 3) | FIXED64);
              out.double(Math.round(random.fraction() * 1e4) / 100);
            });
          }
        });
      });
    }
  });
}

function sentence(random: SeededRandom, length: number): string {
  let text = '';
  while (text.length < length) text += `${WORDS[random.below(WORDS.length)]} ${random.below(10_000)} `;
  return text.slice(0, length);
}

function id(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => 1 + random.below(255)));
}

/** Records of 200 bytes. */
function logsBody(index: number, batch: number, random: SeededRandom): Buffer {
  return request('logger', `service-${index % 20}`, (out) => {
    for (let i = 0; i < batch; i++) {
      out.part(2, () => {
        out.time(1, START_NS + BigInt(index * batch + i) * 1_000_000n);
        out.integer(2, 9);
        out.string(3, 'INFO');
        out.part(5, () => out.string(1, sentence(random, 72)));
        out.attribute(6, 'http.method', 'GET');
        out.attribute(6, 'status', 200 + random.below(5));
        out.bytes((9 << 3) | BYTES, id(random, 16));
        out.bytes((10 << 3) | BYTES, id(random, 8));
        out.time(11, START_NS + BigInt(index * batch + i) * 1_000_000n);
      });
    }
  });
}

/** Spans of ten attributes. */
function tracesBody(index: number, batch: number, random: SeededRandom): Buffer {
  return request('tracer', `service-${index % 20}`, (out) => {
    for (let i = 0; i < batch; i++) {
      const startNs = START_NS + BigInt(index * batch + i) * 1_000_000n;
      out.part(2, () => {
        out.bytes((1 << 3) | BYTES, id(random, 16));
        out.bytes((2 << 3) | BYTES, id(random, 8));
        out.string(5, `GET /orders/${random.below(30)}`);
        out.integer(6, 2);
        out.time(7, startNs);
        out.time(8, startNs + BigInt(1_000 + random.below(1e8)));
        out.attribute(9, 'http.request.method', 'GET');
        out.attribute(9, 'http.response.status_code', 200 + random.below(5));
        out.attribute(9, 'url.path', `/orders/${random.below(10_000)}`);
        out.attribute(9, 'server.address', 'shop.example.com');
        out.attribute(9, 'server.port', 443);
        out.attribute(9, 'client.address', `10.0.${random.below(256)}.${random.below(256)}`);
        out.attribute(9, 'user.id', random.below(100_000));
        out.attribute(9, 'db.system.name', 'postgresql');
        out.attribute(9, 'retries', random.below(3));
        out.attribute(9, 'cache', random.below(2) === 0 ? 'hit' : 'miss');
      });
    }
  });
}

/** Five streams; lines of 200 bytes. */
function lokiBody(index: number, batch: number, random: SeededRandom): Buffer {
  const out = new MessageWriter();
  const streams = 5;
  for (let stream = 0; stream < streams; stream++) {
    out.part(1, () => {
      out.string(1, `{app="app-${stream}", host="host-${index % 20}", level="info"}`);
      for (let i = 0; i < batch / streams; i++) {
        out.part(2, () => {
          const timeNs = START_NS + BigInt(index * batch + i) * 1_000_000n;
          out.part(1, () => {
            out.integer(1, Number(timeNs / 1_000_000_000n));
            out.integer(2, Number(timeNs % 1_000_000_000n));
          });
          out.string(2, sentence(random, 200));
        });
      }
    });
  }
  return compressSync(out.take());
}

/** Events of 200 bytes. */
function splunkBody(index: number, batch: number, random: SeededRandom): Buffer {
  const lines = Array.from({ length: batch }, (_, i) =>
    JSON.stringify({
      time: 1_700_000_000 + (index * batch + i) / 1000,
      host: `host-${index % 20}`,
      source: 'app.log',
      sourcetype: '_json',
      event: { level: 'info', message: sentence(random, 72), status: 200 + random.below(5), user: random.below(1e5) },
    }),
  );
  return Buffer.from(lines.join('\n'));
}

/** Documents of 200 bytes. */
function elasticsearchBody(index: number, batch: number, random: SeededRandom): Buffer {
  const action = '{"create":{"_index":"logs"}}';
  const lines = Array.from({ length: batch }, (_, i) => {
    const document = {
      '@timestamp': new Date(1_700_000_000_000 + index * batch + i).toISOString(),
      host: { name: `host-${index % 20}` },
      log: { level: 'info' },
      message: sentence(random, 90),
      status: 200 + random.below(5),
      user: random.below(1e5),
    };
    return `${action}\n${JSON.stringify(document)}\n`;
  });
  return Buffer.from(lines.join(''));
}
