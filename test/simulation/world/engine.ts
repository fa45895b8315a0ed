import { DuckDBMaterializedResult } from '@duckdb/node-api';

import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** Connections that were given back, for the next who wants one of their instance: each step of the engine costs a thread's turn. */
const idle = new WeakMap<DuckDBInstance, DuckDBConnection[]>();

/** Connections of one process to an instance that others use too; they are closed when it dies. */
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
  /** How many of the connection's calls have no answer yet. */
  readonly calls: { underWay: number };
  /** What is done otherwise than by the object itself. */
  readonly members?: Readonly<Record<string, Method>>;
}

/** The same object, whose promises end in virtual time. */
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

/** Lets a result that is in memory be read without a turn of a thread for each of its chunks. */
function readAtOnce(result: DuckDBMaterializedResult): void {
  let at = 0;
  result.fetchChunk = () => Promise.resolve(at < result.chunkCount ? result.getChunk(at++) : null);
}
