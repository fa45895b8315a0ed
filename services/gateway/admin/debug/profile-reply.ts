import { AlmanacError } from '#shared/errors/almanac-error';
import { FLAME_GRAPH_POLICY } from '#shared/profiling/flame-graph';

import type { RequestContext } from '../../request-context.js';
import { inQuery } from '../../openapi/parameters.js';
import type { ReplyDoc } from '../../openapi/route-doc.js';
import { BINARY, enumOf, listOf, NUMBER, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';
import { send, type HttpReply } from '../../reply.js';
import type { AdminDeps } from '../endpoint.js';

const OUTPUTS = ['proto', 'text', 'flamegraph', 'json'] as const;

/** Form in which a profile is returned. */
export type ProfileOutput = (typeof OUTPUTS)[number];

/** Describes the parameter `output`. */
export const OUTPUT_PARAMETER = inQuery('output', 'Form of the profile.', enumOf(...OUTPUTS));

const PROFILE = objectOf({
  unit: TEXT,
  total: NUMBER,
  'duration_ms?': NUMBER,
  frames: listOf(objectOf({ name: TEXT, file: TEXT, line: WHOLE })),
  stacks: listOf(listOf(WHOLE)),
  values: listOf(NUMBER),
});

/** Describes a profile. */
export const PROFILE_REPLY_DOC: ReplyDoc = {
  description: 'The profile: of pprof, as text, as JSON, or drawn.',
  content: {
    'application/octet-stream': BINARY,
    'text/plain': TEXT,
    'application/json': PROFILE,
    'image/svg+xml': TEXT,
  },
};

/** Reads the parameter `output`. @throws `invalid_arguments` for another value. */
export function outputOf({ query }: RequestContext, byDefault: ProfileOutput): ProfileOutput {
  const text = query.get('output') ?? byDefault;
  const output = OUTPUTS.find((name) => name === text);
  if (output !== undefined) return output;
  const known = OUTPUTS.join(', ');
  throw new AlmanacError('invalid_arguments', `output "${text.slice(0, 60)}" is none of ${known}`);
}

/** Reads a whole number within bounds. @throws `invalid_arguments`. */
export function wholeNumberOf({ query }: RequestContext, name: string, byDefault: number, max: number): number {
  const text = query.get(name);
  if (text === null) return byDefault;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw new AlmanacError('invalid_arguments', `${name} must be a whole number from 1 to ${max}`);
}

/** Sends a profile. @param name of what was profiled: `cpu` or `heap`. */
export async function sendProfile(
  context: RequestContext,
  { profiles, nowMs }: AdminDeps,
  { pprof, output, name }: { readonly pprof: Uint8Array; readonly output: ProfileOutput; readonly name: string },
): Promise<void> {
  const time = new Date(nowMs()).toISOString().slice(0, 19).replace(/:/g, '-');
  const file = `almanac-${name}-${time}`;
  switch (output) {
    case 'proto':
      return send(context, fileReply(pprof, { type: 'application/octet-stream', file: `${file}.pb.gz` }));
    case 'text':
      return send(
        context,
        fileReply(await profiles.run({ kind: 'text', pprof }), {
          type: 'text/plain; charset=utf-8',
          file: `${file}.txt`,
          isShown: true,
        }),
      );
    case 'json':
      return send(context, {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: await profiles.run({ kind: 'json', pprof }),
      });
    case 'flamegraph': {
      const title = name === 'cpu' ? 'cpu' : 'inuse_space';
      return send(context, flameGraphReply(await profiles.run({ kind: 'flame-graph', pprof, title }), file));
    }
  }
}

/** Makes the reply with a flame graph, which a browser shows. @param file its name without the extension. */
export function flameGraphReply(svg: Uint8Array, file: string): HttpReply {
  const reply = fileReply(svg, { type: 'image/svg+xml', file: `${file}.svg`, isShown: true });
  return { ...reply, headers: { ...reply.headers, 'content-security-policy': FLAME_GRAPH_POLICY } };
}

interface FileFacts {
  readonly type: string;
  readonly file: string;
  /** Whether a browser shows the file instead of storing it. */
  readonly isShown?: boolean;
}

function fileReply(body: Uint8Array, { type, file, isShown = false }: FileFacts): HttpReply {
  const disposition = `${isShown ? 'inline' : 'attachment'}; filename="${file}"`;
  const headers = { 'content-type': type, 'content-disposition': disposition, 'x-content-type-options': 'nosniff' };
  return { status: 200, headers, body };
}
