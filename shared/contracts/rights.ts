import { AlmanacError } from '#shared/errors/almanac-error';

/** What a user may do. `admin` includes the rest. */
export type Mode = 'read' | 'write' | 'read_write' | 'admin';

/** What an operation needs. */
export type Access = 'read' | 'write' | 'admin';

/** The mode that a user has for a database. */
export interface Grant {
  /** Empty: every database. */
  readonly database: string;
  readonly mode: Mode;
}

/** Who makes a call, and what they may do. */
export interface Rights {
  readonly user: string;
  readonly grants: readonly Grant[];
  /** Whether the user is one that SQL manages and gave its password, which it may then change. */
  readonly mayChangePassword?: boolean;
  /** Whether the request gives up all rights but reading. */
  readonly isReadOnly?: boolean;
  /** Whether an administrator of every database made such a request, which shows what all users run. */
  readonly seesAll?: boolean;
}

const MODES: Readonly<Record<Mode, readonly Access[]>> = {
  read: ['read'],
  write: ['write'],
  read_write: ['read', 'write'],
  admin: ['read', 'write', 'admin'],
};

/** Whether a text is a mode. */
export function isMode(text: string): text is Mode {
  return Object.hasOwn(MODES, text);
}

/** Returns the mode of which the rights are those of both modes. */
export function modeWith(mode: Mode | undefined, added: Mode): Mode {
  return modeOf(new Set([...accessOf(mode), ...MODES[added]])) ?? added;
}

/** Returns the mode without the rights of another one; undefined if none is left. */
export function modeWithout(mode: Mode | undefined, removed: Mode): Mode | undefined {
  return modeOf(new Set(accessOf(mode).filter((access) => !MODES[removed].includes(access))));
}

function accessOf(mode: Mode | undefined): readonly Access[] {
  return mode === undefined ? [] : MODES[mode];
}

/** Administration includes the rest, so without a part of it the other part is left. */
function modeOf(access: ReadonlySet<Access>): Mode | undefined {
  const [mayRead, mayWrite] = [access.has('read'), access.has('write')];
  if (mayRead && mayWrite) return access.has('admin') ? 'admin' : 'read_write';
  return mayRead ? 'read' : mayWrite ? 'write' : undefined;
}

/** Whether rights include a kind of access to a database; to an empty name, to any of them. Undefined rights are all rights. */
export function mayAccess(rights: Rights | undefined, access: Access, database = ''): boolean {
  if (rights === undefined) return true;
  return rights.grants.some((grant) => {
    const isThere = database === '' || grant.database === '' || grant.database === database;
    return isThere && MODES[grant.mode].includes(access);
  });
}

/**
 * Checks the rights of a caller.
 *
 * @param database empty: any of them.
 * @throws `access_denied` if it may not use the database at all; `permission_denied`.
 */
export function requireAccess(
  { rights }: { readonly rights?: Rights | undefined },
  access: Access,
  database = '',
): void {
  if (mayAccess(rights, access, database)) return;
  if (database !== '') requireDatabase({ rights }, database);
  refuseReadOnly({ rights });
  throw new AlmanacError('permission_denied', 'User is not authorized to perform this action');
}

/** Checks that a request did not give up all rights but reading. @throws `permission_denied`. */
export function refuseReadOnly({ rights }: { readonly rights?: Rights | undefined }): void {
  if (rights?.isReadOnly !== true) return;
  throw new AlmanacError('permission_denied', 'a request with read_only may only read');
}

/** Returns the part of rights that reads. Undefined rights are all rights. */
export function readingRights(rights: Rights = { user: '', grants: [{ database: '', mode: 'admin' }] }): Rights {
  const grants = rights.grants.filter(({ mode }) => mode !== 'write');
  return {
    user: rights.user,
    grants: grants.map(({ database }) => ({ database, mode: 'read' })),
    isReadOnly: true,
    seesAll: mayAccess({ ...rights, grants: rights.grants.filter(({ database }) => database === '') }, 'admin'),
  };
}

/** Whether rights include anything in a database. Undefined rights are all rights. */
export function mayUseDatabase(rights: Rights | undefined, database: string): boolean {
  return rights?.grants.some((grant) => grant.database === '' || grant.database === database) ?? true;
}

/** Checks that a caller may do anything in a database. @throws `access_denied`. */
export function requireDatabase({ rights }: { readonly rights?: Rights | undefined }, database: string): void {
  if (mayUseDatabase(rights, database)) return;
  throw new AlmanacError('access_denied', `Access denied for user '${rights?.user}' to database '${database}'`);
}

/** Checks that rights hold in every database, for what belongs to none. @throws `permission_denied`. */
export function requireEverywhere({ rights }: { readonly rights?: Rights | undefined }, access: Access): void {
  const everywhere = rights && { ...rights, grants: rights.grants.filter(({ database }) => database === '') };
  requireAccess({ rights: everywhere }, access);
}

/** Encodes rights for another process. */
export function encodeRights(rights: Rights): Buffer {
  return Buffer.from(JSON.stringify(rights));
}

/** Decodes rights from another process of the cluster. What cannot be read is no right at all. */
export function decodeRights(bytes: Uint8Array): Rights {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as Rights;
  } catch {
    return { user: '', grants: [] };
  }
}
