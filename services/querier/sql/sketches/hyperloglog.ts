import { AlmanacError } from '#shared/errors/almanac-error';

/** Registers of a state; the error is 1.04 / sqrt(16384) = 0.8 %. */
export const REGISTERS = 16_384;
/** Factor between a register's number and its rank in an entry. */
export const RANKS = 64;
const VERSION = 1;

/**
 * Builds the state of HyperLogLog (Flajolet et al., 2007) from its entries: `register * 64 + rank`, where the rank is the
 * position of the first one bit of a hash's upper 50 bits. A state is one version byte and one byte for each register.
 */
export function stateOfEntries(entries: readonly number[]): Uint8Array {
  const state = new Uint8Array(REGISTERS + 1);
  state[0] = VERSION;
  for (const entry of entries) {
    const at = Math.floor(entry / RANKS) + 1;
    const rank = entry % RANKS;
    if (rank > state[at]) state[at] = rank;
  }
  return state;
}

/** Merges two states. @throws `execute_query` if one is none. */
export function mergeStates(left: Uint8Array, right: Uint8Array): Uint8Array {
  checkState(left);
  checkState(right);
  return left.map((rank, i) => Math.max(rank, right[i]));
}

/** Estimates the number of distinct values; few are counted by the registers that are still empty. */
export function estimate(state: Uint8Array): number {
  checkState(state);
  let sum = 0;
  let emptyCount = 0;
  for (let i = 1; i <= REGISTERS; i++) {
    sum += 2 ** -state[i];
    if (state[i] === 0) emptyCount++;
  }
  const raw = ((0.7213 / (1 + 1.079 / REGISTERS)) * REGISTERS * REGISTERS) / sum;
  const isSmall = raw <= 2.5 * REGISTERS && emptyCount > 0;
  return Math.round(isSmall ? REGISTERS * Math.log(REGISTERS / emptyCount) : raw);
}

function checkState(state: Uint8Array): void {
  if (state.length !== REGISTERS + 1 || state[0] !== VERSION) {
    throw new AlmanacError('execute_query', 'binary value is no HyperLogLog state');
  }
}
