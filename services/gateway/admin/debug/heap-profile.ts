import { AlmanacError } from '#shared/errors/almanac-error';

import { formOf } from '../../query/prom-form.js';
import { jsonReply, send, textReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { callNode, type AdminDeps, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { outputOf, sendProfile } from './profile-reply.js';

const BASE = '/debug/prof/mem';
/** Longest time for joining and drawing a profile. */
const PROFILE_MS_MAX = 90_000;
const REPLY_MS_MAX = 5_000;

/** Profile the memory in use, and turn the sampling of allocations on and off. */
export const heapProfileEndpoints: readonly AdminEndpoint[] = [
  {
    methods: ['GET', 'POST'],
    path: BASE,
    handler: (deps) => async (context) => {
      context.request.resume();
      const output = outputOf(context, 'text');
      const call = context.call(PROFILE_MS_MAX);
      const { pprof } = await callNode(context, deps, (admin) => admin.heapProfile({}, call), call);
      await sendProfile(context, deps, { pprof, output, name: 'heap' });
    },
  },
  switchEndpoint('activate', 'Heap profiling activated'),
  switchEndpoint('deactivate', 'Heap profiling deactivated'),
  {
    methods: ['GET'],
    path: `${BASE}/status`,
    handler: (deps) => async (context) => {
      const { active } = await change(context, deps, '');
      send(context, jsonReply(200, { active }));
    },
  },
  {
    methods: ['GET', 'POST'],
    path: `${BASE}/gdump`,
    handler: (deps) => async (context) => {
      if (context.request.method !== 'POST') {
        const { gdump } = await change(context, deps, '');
        return send(context, jsonReply(200, { active: gdump }));
      }
      const call = context.call(REPLY_MS_MAX);
      const wanted = await withBody(context, deps, call, (bytes) => formOf(context, bytes).value('activate'));
      if (wanted !== 'true' && wanted !== 'false') {
        throw new AlmanacError('invalid_arguments', 'the form needs the field "activate" with "true" or "false"');
      }
      await change(context, deps, wanted === 'true' ? 'activate_gdump' : 'deactivate_gdump');
      send(context, textReply(200, `gdump ${wanted === 'true' ? 'activated' : 'deactivated'}`));
    },
  },
];

function switchEndpoint(name: 'activate' | 'deactivate', text: string): AdminEndpoint {
  return {
    methods: ['POST'],
    path: `${BASE}/${name}`,
    handler: (deps) => async (context) => {
      context.request.resume();
      await change(context, deps, name);
      send(context, textReply(200, text));
    },
  };
}

function change(
  context: RequestContext,
  deps: AdminDeps,
  wanted: string,
): Promise<{ active: boolean; gdump: boolean }> {
  return callNode(context, deps, (admin, call) => admin.setHeapSampling({ change: wanted }, call));
}
