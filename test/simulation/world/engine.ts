import { DuckDBMaterializedResult } from '@duckdb/node-api';

import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** Unused connections by instance, to be reused: each step of the engine costs a thread switch. */
const idle = new WeakMap<DuckDBInstance, DuckDBConnection[]>();

/** Returns an instance for one process that other processes share; its connections are closed when the process dies. */
export function engineOf(instance: DuckDBInstance, life: Life, scheduler: Scheduler): DuckDBInstance {
  const view: Pick<DuckDBInstance, 'connect' | 'closeSync'> = {
    async connect() {
      const left = idle.get(instance)?.pop();
      const real = await scheduler.work(life, left === undefined ? instance.connect() : Promise.resolve(left));
      const calls = { underWay: 0 };
      const forget = life.onDeath(() => real.closeSync());
      let isClosed = false;
      const closeSync = (): void => {
        if (isClosed || life.isDead) return;
        isClosed = true;
        forget();
        giveBack(instance, real, calls.underWay === 0);
      };
      return timed(real, { life, scheduler, calls, members: { closeSync } }) as DuckDBConnection;
    },
    closeSync: () => undefined,
  };
  return view as DuckDBInstance;
}

/** @param isAtRest whether it can be used again. */
function giveBack(instance: DuckDBInstance, connection: DuckDBConnection, isAtRest: boolean): void {
  if (!isAtRest) return connection.closeSync();
  const others = idle.get(instance);
  if (others === undefined) idle.set(instance, [connection]);
  else others.push(connection);
}

type Method = (...values: unknown[]) => unknown;

interface Timing {
  readonly life: Life;
  readonly scheduler: Scheduler;
  /** Number of the connection's unfinished calls. */
  readonly calls: { underWay: number };
  /** Methods that replace the object's own. */
  readonly members?: Readonly<Record<string, Method>>;
}

/** Wraps an object so that its promises resolve in virtual time. */
function timed(target: object, timing: Timing): object {
  const { life, scheduler, calls, members = {} } = timing;
  return new Proxy(target, {
    get(_target, name) {
      if (typeof name === 'string' && name in members) return members[name];
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]): unknown => {
        const answer = (member as Method).apply(target, values);
        if (!(answer instanceof Promise)) return answer;
        calls.underWay++;
        return scheduler
          .work(
            life,
            answer.finally(() => calls.underWay--),
          )
          .then((value: unknown) => {
            if (!isResult(value)) return value;
            if (value instanceof DuckDBMaterializedResult) readAtOnce(value);
            return timed(value, { life, scheduler, calls });
          });
      };
    },
  });
}

function isResult(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'fetchChunk' in value;
}

/** Lets a result that is in memory be read without a thread switch for each of its chunks. */
function readAtOnce(result: DuckDBMaterializedResult): void {
  let at = 0;
  result.fetchChunk = () => Promise.resolve(at < result.chunkCount ? result.getChunk(at++) : null);
}
