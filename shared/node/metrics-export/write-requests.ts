import type { Clock } from '#shared/clock/clock';
import { WireWriter } from '#shared/protobuf/wire-writer';

/** Metrics of one process at one time. */
export interface MetricsSnapshot {
  /** Prometheus's text format, as prom-client prints it. */
  readonly text: string;
  /** Labels that are added to all series; a label of the same name that a series has already takes precedence. */
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/** Series of one request: receivers limit the size of requests, and encoding that many takes a few milliseconds. */
const SERIES_MAX = 2_000;

const SERIES_TAG = 0x0a;
const LABEL_TAG = 0x0a;
const SAMPLE_TAG = 0x12;
const METADATA_TAG = 0x1a;
const NAME_TAG = 0x0a;
const VALUE_TAG = 0x12;
const SAMPLE_VALUE_TAG = 0x09;
const SAMPLE_TIME_TAG = 0x10;
const TYPE_TAG = 0x08;
const FAMILY_TAG = 0x12;
const HELP_TAG = 0x22;
const TYPES = ['unknown', 'counter', 'gauge', 'histogram', 'gaugehistogram', 'summary'];

const COMMENT = /^# (HELP|TYPE) (\S+) (.*)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?/g;

/**
 * Encodes metrics as remote write 1.0, with their types and help texts. Between two requests other work may run.
 *
 * ```
 * WriteRequest { repeated TimeSeries 1; repeated MetricMetadata 3 }
 * TimeSeries { repeated Label { name 1; value 2 } 1; repeated Sample { double value 1; int64 timestamp 2 } 2 }
 * MetricMetadata { type 1; metric_family_name 2; help 4 }
 * ```
 */
export async function* writeRequests(
  { text, labels, timeMs }: MetricsSnapshot,
  clock: Pick<Clock, 'yield'>,
): AsyncGenerator<Buffer, void, undefined> {
  const writer = new WireWriter();
  let count = 0;
  let help = '';
  for (const line of text.split('\n')) {
    const comment = COMMENT.exec(line);
    if (comment !== null) {
      if (comment[1] === 'HELP') help = comment[3];
      else writeMetadata(writer, { family: comment[2], type: comment[3], help: unescaped(help) });
      continue;
    }
    const sample = SAMPLE.exec(line);
    if (sample === null) continue;
    const [, name, own = '', value] = sample;
    writeSeries(writer, seriesLabels(name, own, labels), valueOf(value), timeMs);
    count++;
    if (count % SERIES_MAX !== 0) continue;
    yield writer.take();
    await clock.yield();
  }
  if (writer.length > 0) yield writer.take();
}

type Label = readonly [name: string, value: string];

/** Returns labels in the order of their names, as receivers require. */
function seriesLabels(name: string, own: string, added: Readonly<Record<string, string>>): Label[] {
  const labels = new Map([['__name__', name], ...Object.entries(added)]);
  for (const [, label, value] of own.matchAll(LABEL)) labels.set(label, unescaped(value));
  return [...labels].sort(([a], [b]) => (a < b ? -1 : 1));
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign)) : text;
}

function valueOf(text: string): number {
  return text.endsWith('Inf') ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text);
}

function writeSeries(writer: WireWriter, labels: readonly Label[], value: number, timeMs: number): void {
  writer.message(SERIES_TAG, () => {
    for (const [name, text] of labels) {
      writer.message(LABEL_TAG, () => {
        writer.text(NAME_TAG, name);
        writer.text(VALUE_TAG, text);
      });
    }
    writer.message(SAMPLE_TAG, () => {
      writer.byte(SAMPLE_VALUE_TAG);
      writer.double(value);
      writer.byte(SAMPLE_TIME_TAG);
      writer.varint(timeMs);
    });
  });
}

function writeMetadata(
  writer: WireWriter,
  { family, type, help }: { readonly family: string; readonly type: string; readonly help: string },
): void {
  writer.message(METADATA_TAG, () => {
    writer.byte(TYPE_TAG);
    writer.varint(Math.max(0, TYPES.indexOf(type)));
    writer.text(FAMILY_TAG, family);
    writer.text(HELP_TAG, help);
  });
}
