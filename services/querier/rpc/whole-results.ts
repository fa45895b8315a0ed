import type { SqlEvent } from '#shared/contracts/gen/querier';

/**
 * The events of one statement, of which a result of at most one text becomes one `result`: each message between
 * processes costs about a fifth of a millisecond at both of its ends. Larger results go on as they come, one behind.
 */
export async function* wholeResults(events: AsyncIterable<SqlEvent>): AsyncIterable<SqlEvent> {
  let schema: SqlEvent | undefined;
  let text: SqlEvent | undefined;
  for await (const event of events) {
    if (event.kind === 'schema') {
      schema = event;
    } else if (schema === undefined) {
      yield event;
    } else if (event.kind === 'end') {
      yield { ...event, kind: 'result', schema: schema.schema, text: text?.text ?? event.text };
      schema = undefined;
    } else if (text === undefined) {
      text = event;
    } else {
      yield schema;
      yield text;
      yield event;
      schema = undefined;
    }
  }
}
