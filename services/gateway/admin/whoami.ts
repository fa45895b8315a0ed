import { modeWith, type Grant, type Mode, type Rights } from '#shared/contracts/rights';

import { enumOf, FLAG, jsonDoc, listOf, objectOf, orNull, TEXT } from '../openapi/schemas.js';
import { jsonReply, send } from '../reply.js';
import { STATE_GROUP, type AdminEndpoint } from './endpoint.js';

/** Without users everyone may do everything. */
const EVERYTHING: readonly Grant[] = [{ database: '', mode: 'admin' }];

const MODE = enumOf('read', 'write', 'read_write', 'admin');
const IDENTITY = objectOf({
  user: TEXT,
  auth: FLAG,
  mode: orNull(MODE),
  databases: listOf(TEXT),
  grants: listOf(objectOf({ database: TEXT, mode: MODE })),
  version: TEXT,
  listener: enumOf('main', 'public'),
});

/** Returns who sends the request, and what they may do. */
export const whoamiEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/v1/whoami',
  doc: {
    group: STATE_GROUP,
    summary: 'Returns who sends the request, and what they may do',
    replies: { 200: jsonDoc('The user.', IDENTITY) },
    example: {},
  },
  handler: (deps) => (context) => {
    context.request.resume();
    const { rights, listener } = context;
    const grants = [...(rights?.grants ?? EVERYTHING)].sort((a, b) => (a.database < b.database ? -1 : 1));
    const identity = {
      user: rights?.user ?? '',
      auth: rights !== undefined,
      mode: widestMode(grants) ?? null,
      databases: grants.map(({ database }) => nameOf(database)),
      grants: grants.map(({ database, mode }) => ({ database: nameOf(database), mode })),
      version: deps.version,
      listener,
    };
    // Other users of the same browser must not see it.
    send(context, jsonReply(200, identity, { 'cache-control': 'no-store' }));
  },
};

/** Returns what a user may do in some database or other. */
function widestMode(grants: Rights['grants']): Mode | undefined {
  let widest: Mode | undefined;
  for (const { mode } of grants) widest = modeWith(widest, mode);
  return widest;
}

function nameOf(database: string): string {
  return database === '' ? '*' : database;
}
