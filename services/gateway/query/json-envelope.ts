import type { SqlEvent } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

const ROW_SEPARATOR = Buffer.from(',');

/**
 * The default result format around rows that are text already (spec: docs/http-api.md):
 *
 *     {"output":[{"records":{"schema":{"column_schemas":[..]},"rows":[..],"total_rows":1}},{"affectedrows":3}],
 *      "execution_time_ms":7}
 *
 * @param elapsedMs asked at the end.
 */
export async function* jsonEnvelope(
  events: AsyncIterable<SqlEvent>,
  elapsedMs: () => number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let isFirstResult = true;
  let isFirstBlock = true;
  for await (const event of events) {
    switch (event.kind) {
      case 'result':
        yield Buffer.from((isFirstResult ? '{"output":[' : ',') + head(event));
        if (event.text.length > 0) yield event.text;
        yield tail(event);
        break;
      case 'schema':
        yield Buffer.from((isFirstResult ? '{"output":[' : ',') + head(event));
        isFirstBlock = true;
        break;
      case 'text':
        if (event.text.length === 0) continue;
        if (!isFirstBlock) yield ROW_SEPARATOR;
        isFirstBlock = false;
        yield event.text;
        continue;
      case 'end':
        yield tail(event);
        continue;
      case 'affected':
        yield Buffer.from(`${isFirstResult ? '{"output":[' : ','}{"affectedrows":${event.affectedRows}}`);
        break;
      default:
        throw new AlmanacError('unexpected', `the querier speaks of "${event.kind}": is it of another release?`);
    }
    isFirstResult = false;
  }
  yield Buffer.from(isFirstResult ? `{"execution_time_ms":${elapsedMs()}}` : `],"execution_time_ms":${elapsedMs()}}`);
}

function head({ schema }: SqlEvent): string {
  const columns = schema.map(({ name, type }) => ({ name, data_type: type }));
  return `{"records":{"schema":{"column_schemas":${JSON.stringify(columns)}},"rows":[`;
}

function tail({ rows }: SqlEvent): Buffer {
  return Buffer.from(`],"total_rows":${rows}}}`);
}
