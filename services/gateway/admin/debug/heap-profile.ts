import { AlmanacError } from '#shared/errors/almanac-error';

import { NODE_PARAMETER } from '../../openapi/parameters.js';
import { enumOf, FLAG, jsonDoc, objectOf, textDoc } from '../../openapi/schemas.js';
import { formOf } from '../../query/prom-form.js';
import { jsonReply, send, textReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { callNode, DIAGNOSIS_GROUP, type AdminDeps, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { OUTPUT_PARAMETER, outputOf, PROFILE_REPLY_DOC, sendProfile } from './profile-reply.js';

const BASE = '/debug/prof/mem';
/** Longest time for joining and drawing a profile. */
const PROFILE_MS_MAX = 90_000;
const REPLY_MS_MAX = 5_000;

const ACTIVE = objectOf({ active: FLAG });

/** Profile the memory in use, and turn the sampling of allocations on and off. */
export const heapProfileEndpoints: readonly AdminEndpoint[] = [
  {
    methods: ['GET', 'POST'],
    path: BASE,
    doc: {
      group: DIAGNOSIS_GROUP,
      summary: 'Returns the memory in use, by the functions that allocated it',
      description: 'Allocations must be sampled: see `/debug/prof/mem/activate`.',
      parameters: [OUTPUT_PARAMETER, NODE_PARAMETER],
      replies: { 200: PROFILE_REPLY_DOC },
      // Sampling is off on a new server.
      example: { parameters: { output: 'json' }, status: 400 },
    },
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
    doc: {
      group: DIAGNOSIS_GROUP,
      summary: 'Reports whether allocations are sampled',
      parameters: [NODE_PARAMETER],
      replies: { 200: jsonDoc('The state.', ACTIVE) },
      example: {},
    },
    handler: (deps) => async (context) => {
      const { active } = await change(context, deps, '');
      send(context, jsonReply(200, { active }));
    },
  },
  {
    methods: ['GET', 'POST'],
    path: `${BASE}/gdump`,
    doc: {
      group: DIAGNOSIS_GROUP,
      summary: 'Reports whether profiles are written when memory passes its last peak',
      parameters: [NODE_PARAMETER],
      replies: { 200: jsonDoc('The state.', ACTIVE) },
      example: {},
      byMethod: {
        POST: {
          summary: 'Turns profiles at peaks of memory on or off',
          body: {
            description: 'Whether they are written.',
            content: { 'application/x-www-form-urlencoded': objectOf({ activate: enumOf('true', 'false') }) },
          },
          replies: { 200: textDoc('The state has changed.', '^gdump ') },
          example: { body: { type: 'application/x-www-form-urlencoded', value: { activate: 'false' } } },
        },
      },
    },
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
    doc: {
      group: DIAGNOSIS_GROUP,
      summary: `Turns the sampling of allocations ${name === 'activate' ? 'on' : 'off'}`,
      parameters: [NODE_PARAMETER],
      replies: { 200: textDoc('The state has changed.', '^Heap profiling ') },
      example: {},
    },
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
