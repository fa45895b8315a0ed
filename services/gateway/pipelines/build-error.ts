import { AlmanacError } from '#shared/errors/almanac-error';

/** Makes the error for a pipeline that does not build. */
export function buildError(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

/** Makes the error for an item that a pipeline does not take. */
export function itemError(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

const REQUEST = { refuses: 'request' };

/** Makes the error for a whole request, which the tolerance for single items does not cover. */
export function requestError(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text, { details: REQUEST });
}

/** Whether an error is one of a single item. */
export function isItemError(error: AlmanacError): boolean {
  return error.httpStatus === 400 && error.details['refuses'] !== REQUEST.refuses;
}
