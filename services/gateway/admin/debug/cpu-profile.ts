import { AlmanacError } from '#shared/errors/almanac-error';

import { ALMANAC_ERRORS } from '../../openapi/error-forms.js';
import { inQuery, NODE_PARAMETER } from '../../openapi/parameters.js';
import { jsonDoc, WHOLE } from '../../openapi/schemas.js';
import { errorReply, send } from '../../reply.js';
import { callNode, DIAGNOSIS_GROUP, type AdminEndpoint } from '../endpoint.js';
import { OUTPUT_PARAMETER, outputOf, PROFILE_REPLY_DOC, sendProfile, wholeNumberOf } from './profile-reply.js';

const SECONDS_MAX = 300;
const FREQUENCY_MAX = 1000;
/** Time beyond that of the samples, for joining and drawing them. */
const EXTRA_MS = 90_000;

/** Takes a CPU profile of all threads of a process. */
export const cpuProfileEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/prof/cpu',
  doc: {
    group: DIAGNOSIS_GROUP,
    summary: 'Takes a CPU profile of all threads of a process',
    parameters: [
      inQuery('seconds', 'How long, 1 to 300. Default: 5.', WHOLE),
      inQuery('frequency', 'Samples a second, 1 to 1000. Default: 99.', WHOLE),
      OUTPUT_PARAMETER,
      NODE_PARAMETER,
    ],
    replies: {
      200: PROFILE_REPLY_DOC,
      409: jsonDoc('Another profile is being taken.', ALMANAC_ERRORS.content['application/json']),
    },
    example: { parameters: { seconds: '1', output: 'json' } },
  },
  handler: (deps) => async (context) => {
    context.request.resume();
    const output = outputOf(context, 'proto');
    const seconds = wholeNumberOf(context, 'seconds', 5, SECONDS_MAX);
    const frequency = wholeNumberOf(context, 'frequency', 99, FREQUENCY_MAX);
    const call = context.call(seconds * 1000 + EXTRA_MS);
    try {
      const { pprof } = await callNode(context, deps, (admin) => admin.cpuProfile({ seconds, frequency }, call), call);
      await sendProfile(context, deps, { pprof, output, name: 'cpu' });
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      // Another profile is being taken.
      if (error.code !== 'illegal_state') throw error;
      send(context, errorReply(context, error, 409));
    }
  },
};
