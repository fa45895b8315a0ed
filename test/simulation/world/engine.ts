import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** Connections of one process to an instance that others use too; they are closed when it dies. */
export function engineOf(instance: DuckDBInstance, life: Life, scheduler: Scheduler): DuckDBInstance {
  const view: Pick<DuckDBInstance, 'connect' | 'closeSync'> = {
    async connect() {
      const real = await scheduler.work(life, instance.connect());
      life.onDeath(() => real.closeSync());
      return timed(real, life, scheduler) as DuckDBConnection;
    },
    closeSync: () => undefined,
  };
  return view as DuckDBInstance;
}

type Method = (...values: unknown[]) => unknown;

/** The same object, whose promises end in virtual time. */
function timed(target: object, life: Life, scheduler: Scheduler): object {
  return new Proxy(target, {
    get(_target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]): unknown => {
        const answer = (member as Method).apply(target, values);
        if (!(answer instanceof Promise)) return answer;
        return scheduler.work(life, answer).then((value: unknown) => {
          return isResult(value) ? timed(value, life, scheduler) : value;
        });
      };
    },
  });
}

function isResult(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'fetchChunk' in value;
}
