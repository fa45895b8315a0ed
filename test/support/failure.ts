import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';

/** The error that `work` ends with; fails the test if it does not, or with another kind. */
export async function failure(work: Promise<unknown>): Promise<AlmanacError> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof AlmanacError)) throw error;
    return error;
  }
  return expect.fail('it did not fail');
}

/** The error that `work` throws; fails the test if it does not, or throws another kind. */
export function thrown(work: () => unknown): AlmanacError {
  try {
    work();
  } catch (error) {
    if (!(error instanceof AlmanacError)) throw error;
    return error;
  }
  return expect.fail('it did not fail');
}

/** The code of the error that `work` ends with. */
export async function failureCode(work: Promise<unknown>): Promise<string> {
  return (await failure(work)).code;
}

/** The error that `work` ends with, whatever was thrown; undefined if it succeeds. */
export async function refusal(work: Promise<unknown>): Promise<AlmanacError | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => AlmanacError.from(error),
  );
}
