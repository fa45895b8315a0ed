import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { callError, type Call } from '#shared/contracts/call';
import type { AlmanacError } from '#shared/errors/almanac-error';

import { UnansweredError } from './call-errors.js';
import { contractOf, type ContractName, type Contracts } from './contract.js';
import { REPEATABLE } from './methods.js';

/** Options of `retrying`. */
export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Time within which attempts begin, even if the deadline is later; default 10 s. */
  readonly forMs?: number | undefined;
}

type Run = (request: object, call: Call) => Promise<object>;

const REST_MS = 20;
const REST_MS_MAX = 1_000;
const FOR_MS = 10_000;

/**
 * Wraps a service so that repeatable methods are called again while there is no reply, within the call's deadline. Any
 * reply of the service itself, including errors, is final.
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
        // Between half of the pause and all of it, so that callers of a recovering peer spread out.
        const delayMs = restMs * (0.5 + random.fraction() / 2);
        if (!(error instanceof UnansweredError) || clock.nowMs() + delayMs >= endMs) throw error;
        failure = error;
        await clock.sleep(delayMs, call.signal);
      }
      if (call.signal.aborted) throw whyNot(callError(call.signal), failure);
    }
  };
}

/** If time ran out between attempts, the error names the peer that did not reply. */
function whyNot(end: AlmanacError, failure: UnansweredError): AlmanacError {
  return end.code === 'deadline_exceeded' ? failure : end;
}
