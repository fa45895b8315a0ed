import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { callError, type Call } from '#shared/contracts/call';
import type { AlmanacError } from '#shared/errors/almanac-error';

import { contractOf, type ContractName, type Contracts } from './contract.js';
import { REPEATABLE } from './methods.js';
import { UnansweredError } from './status.js';

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Attempts begin only within this time, also where the deadline is further away; 10 s if not given. */
  readonly forMs?: number | undefined;
}

type Run = (request: object, call: Call) => Promise<object>;

const REST_MS = 20;
const REST_MS_MAX = 1_000;
const FOR_MS = 10_000;

/**
 * The same service, whose repeatable methods are called again while no answer comes, within the call's deadline.
 * Whatever the service itself answers, errors included, is the answer.
 */
export function retrying<Name extends ContractName>(
  name: Name,
  service: Contracts[Name],
  options: RetryOptions,
): Contracts[Name] {
  const methods = service as unknown as Readonly<Record<string, Run>>;
  const repeatable: ReadonlySet<string> = REPEATABLE[name];
  const entries = contractOf(name).methods.map((method): [string, Run] => {
    const run: Run = (request, call) => methods[method.name](request, call);
    return [method.name, repeatable.has(method.name) ? repeated(run, options) : run];
  });
  return Object.fromEntries(entries) as unknown as Contracts[Name];
}

function repeated(run: Run, { clock, random, forMs = FOR_MS }: RetryOptions): Run {
  return async (request, call) => {
    const endMs = Math.min(call.deadlineMs, clock.nowMs() + forMs);
    for (let restMs = REST_MS; ; restMs = Math.min(2 * restMs, REST_MS_MAX)) {
      let failure: UnansweredError;
      try {
        return await run(request, call);
      } catch (error) {
        // Between half of the time and all of it, so that callers of a peer that comes back do not come together.
        const delayMs = restMs * (0.5 + random.fraction() / 2);
        if (!(error instanceof UnansweredError) || clock.nowMs() + delayMs >= endMs) throw error;
        failure = error;
        await clock.sleep(delayMs, call.signal);
      }
      if (call.signal.aborted) throw whyNot(callError(call.signal), failure);
    }
  };
}

/** A caller whose time is over is told what it was that did not answer. */
function whyNot(end: AlmanacError, failure: UnansweredError): AlmanacError {
  return end.code === 'deadline_exceeded' ? failure : end;
}
