import { AlmanacError } from '#shared/errors/almanac-error';

export function bodyTooLarge(limitBytes: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `body is larger than the limit of ${limitBytes} bytes`, { http: 413 });
}
