import { AlmanacError } from '#shared/errors/almanac-error';

import { errorReply, send } from '../../reply.js';
import { callNode, type AdminEndpoint } from '../endpoint.js';
import { outputOf, sendProfile, wholeNumberOf } from './profile-reply.js';

const SECONDS_MAX = 300;
const FREQUENCY_MAX = 1000;
/** Time beyond that of the samples, for joining and drawing them. */
const EXTRA_MS = 90_000;

/** Takes a CPU profile of all threads of a process. */
export const cpuProfileEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/prof/cpu',
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
