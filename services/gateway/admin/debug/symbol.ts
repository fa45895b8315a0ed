import { AlmanacError } from '#shared/errors/almanac-error';

import { mediaTypeOf } from '../../media-type.js';
import { BINARY, objectOf, TEXT } from '../../openapi/schemas.js';
import { multipartFields } from '../../query/multipart.js';
import { errorReply, send } from '../../reply.js';
import { DIAGNOSIS_GROUP, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { flameGraphReply } from './profile-reply.js';

const CALL_MS_MAX = 120_000;

/** Draws an uploaded profile as a flame graph, with the names of the sources of this program. */
export const symbolEndpoint: AdminEndpoint = {
  methods: ['POST'],
  path: '/debug/prof/mem/symbol',
  doc: {
    group: DIAGNOSIS_GROUP,
    summary: 'Draws a profile as a flame graph',
    body: {
      description: 'A profile of pprof or V8, or collapsed stacks.',
      content: { 'application/octet-stream': BINARY, 'multipart/form-data': objectOf({ file: BINARY }) },
    },
    replies: { 200: { description: 'The flame graph.', content: { 'image/svg+xml': TEXT } } },
  },
  handler: (deps) => async (context) => {
    const call = context.call(CALL_MS_MAX);
    try {
      // Before the body is read, which would have to wait in memory.
      deps.profiles.checkRoom();
      const svg = await withBody(context, deps, call, (bytes) => {
        // The bytes are freed later than the thread has its copy.
        const file = new Uint8Array(fileOf(context.request.headers['content-type'], bytes));
        return deps.profiles.run({ kind: 'symbol', file, title: 'symbolicated_heap' });
      });
      send(context, flameGraphReply(svg, 'almanac-symbolicated'));
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      context.request.resume();
      if (error.code !== 'unsupported') throw error;
      send(context, errorReply(context, error, 415));
    }
  },
};

function fileOf(contentType: string | undefined, bytes: Buffer): Buffer {
  if (mediaTypeOf(contentType) !== 'multipart/form-data') return bytes;
  const field = multipartFields(contentType ?? '', bytes).find(([name]) => name === 'file');
  if (field === undefined) throw new AlmanacError('invalid_arguments', 'the form needs the field "file"');
  return field[1];
}
