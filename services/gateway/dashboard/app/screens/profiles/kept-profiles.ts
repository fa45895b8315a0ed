import { BASE_PATH } from '../../core/origin.js';
import type { FlameData } from '../../widgets/flame/flame-data.js';

/** A profile that was taken on this page or an earlier one. */
export interface KeptProfile {
  /** Unique in the browser. */
  readonly id: string;
  readonly kind: 'cpu' | 'heap';
  /** Name of the process; empty for the one that served the page. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly takenMs: number;
  readonly durationMs: number;
  readonly data: FlameData;
}

const KEPT_MAX = 10;
const STORE = 'profiles';

/** Returns the profiles that the browser has kept, the newest first; none if it keeps nothing. */
export async function readKeptProfiles(): Promise<readonly KeptProfile[]> {
  try {
    const all = await transaction('readonly', (store) => store.getAll() as IDBRequest<KeptProfile[]>);
    return all.sort((a, b) => b.takenMs - a.takenMs);
  } catch {
    // Private windows of some browsers have no database.
    return [];
  }
}

/** Keeps a profile, and the newest others. @returns all that are kept, the newest first. */
export async function keepProfile(profile: KeptProfile): Promise<readonly KeptProfile[]> {
  const all = [profile, ...(await readKeptProfiles())];
  const kept = all.slice(0, KEPT_MAX);
  try {
    await transaction('readwrite', (store) => store.put(profile));
    for (const { id } of all.slice(KEPT_MAX)) await transaction('readwrite', (store) => store.delete(id));
  } catch {
    // It is shown until the page is closed.
  }
  return kept;
}

async function transaction<T>(mode: IDBTransactionMode, run: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await opened();
  try {
    return await resultOf(run(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(`almanac${BASE_PATH}`, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
  return resultOf(request);
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser keeps no data'));
  });
}
