import type { Call } from '#shared/contracts/call';
import type { KillProcessRequest, ProcessesService, RunningProcess } from '#shared/contracts/gen/processes';
import { AlmanacError } from '#shared/errors/almanac-error';

/** The processes of all queriers, as SQL shows and ends them. */
export class ProcessDirectory {
  readonly #own: ProcessesService;
  readonly #others: () => readonly ProcessesService[];

  /** @param others the processes of the other queriers, in a cluster. */
  constructor(own: ProcessesService, others: () => readonly ProcessesService[]) {
    this.#own = own;
    this.#others = others;
  }

  /** Returns the processes that the caller may see, by number. Queriers that cannot be reached are left out. */
  async list(call: Call): Promise<readonly RunningProcess[]> {
    const answers = await Promise.allSettled(this.#all().map((service) => service.listProcesses({}, call)));
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.processes : []));
    return found.sort((a, b) => a.number - b.number);
  }

  /**
   * Ends a process that the caller may see.
   *
   * @returns whether there was one. @throws `external` if a querier that may have it cannot be reached.
   */
  kill(number: number, call: Call): Promise<boolean> {
    return this.#kill({ number, queryId: '' }, `process ${number}`, call);
  }

  /** Ends all processes of a request that the caller may see. @returns and @throws as `kill` does. */
  killQuery(queryId: string, call: Call): Promise<boolean> {
    return this.#kill({ number: 0, queryId }, `query ${queryId}`, call);
  }

  async #kill(request: KillProcessRequest, name: string, call: Call): Promise<boolean> {
    const answers = await Promise.allSettled(this.#all().map((service) => service.killProcess(request, call)));
    if (answers.some((answer) => answer.status === 'fulfilled' && answer.value.killed)) return true;
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed === undefined) return false;
    const { message } = AlmanacError.from(failed.reason);
    throw new AlmanacError('external', `a querier that may run ${name} cannot be reached: ${message}`);
  }

  #all(): readonly ProcessesService[] {
    return [this.#own, ...this.#others()];
  }
}

/** Returns the name of a process in SQL: the address of its querier, and its number. */
export function processId({ addr, number }: RunningProcess): string {
  return `${addr}/${number}`;
}
