import { expect } from 'chai';

import type { SqlEvent } from '#shared/contracts/gen/querier';
import { wholeResults } from '#services/querier/rpc/whole-results';

const SCHEMA = [{ name: 'n', type: 'Int64' }];

describe('wholeResults', () => {
  it('joins a result with at most one text to one event', async () => {
    expect(await kindsOf([schema(), text('[1],[2]', 2), end(2)])).to.deep.equal(['result [1],[2] 2']);
    expect(await kindsOf([schema(), end(0)])).to.deep.equal(['result  0']);
  });

  it('forwards larger results and other events', async () => {
    expect(await kindsOf([schema(), text('[1]', 1), text('[2]', 1), text('[3]', 1), end(3)])).to.deep.equal([
      ...['schema  0', 'text [1] 1', 'text [2] 1', 'text [3] 1', 'end  3'],
    ]);
    expect(await kindsOf([{ ...schema(), kind: 'affected', affectedRows: 3 }])).to.deep.equal(['affected  0']);
  });

  it('continues with the next statement', async () => {
    const large = [schema(), text('[1]', 1), text('[2]', 1), end(2)];
    expect(await kindsOf([...large, schema(), text('[3]', 1), end(1), schema(), end(0)])).to.deep.equal([
      ...['schema  0', 'text [1] 1', 'text [2] 1', 'end  2', 'result [3] 1', 'result  0'],
    ]);
  });

  it('keeps the schema and omits a result that fails', async () => {
    const kinds: string[] = [];
    for await (const event of wholeResults(from([schema(), end(0)]))) expect(event.schema).to.deep.equal(SCHEMA);
    async function* failing(): AsyncIterable<SqlEvent> {
      yield* from([schema(), text('[1]', 1)]);
      throw new Error('gone');
    }
    let failure: unknown;
    try {
      for await (const { kind } of wholeResults(failing())) kinds.push(kind);
    } catch (error) {
      failure = error;
    }
    expect((failure as Error).message).to.equal('gone');
    expect(kinds).to.deep.equal([]);
  });
});

async function kindsOf(events: readonly SqlEvent[]): Promise<string[]> {
  const kinds: string[] = [];
  for await (const { kind, text: bytes, rows } of wholeResults(from(events))) {
    kinds.push(`${kind} ${Buffer.from(bytes).toString()} ${rows}`);
  }
  return kinds;
}

async function* from(events: readonly SqlEvent[]): AsyncIterable<SqlEvent> {
  for (const event of events) yield await Promise.resolve(event);
}

function schema(): SqlEvent {
  return { statement: 0, kind: 'schema', schema: SCHEMA, text: new Uint8Array(0), rows: 0, affectedRows: 0 };
}

function text(words: string, rows: number): SqlEvent {
  return { ...schema(), kind: 'text', schema: [], text: Buffer.from(words), rows };
}

function end(rows: number): SqlEvent {
  return { ...schema(), kind: 'end', schema: [], rows };
}
