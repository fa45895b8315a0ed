/** Errors of calls, without the library: a process that calls no other one would load it for them. */
import { AlmanacError, type ErrorExtras } from '#shared/errors/almanac-error';

/** The transport failed: there was no reply, and whether the service did the work is unknown. */
export class UnansweredError extends AlmanacError {
  constructor(message: string, extras: ErrorExtras = {}) {
    super('external', message, extras);
  }
}

/** No process listens at the address. */
export class RefusedError extends UnansweredError {}

/** An error of a standard service, with a gRPC status of its own. */
export class StandardError extends AlmanacError {
  readonly grpc: number;

  constructor(grpc: number, message: string) {
    super('invalid_arguments', message);
    this.grpc = grpc;
  }
}
