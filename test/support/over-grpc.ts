import { systemClock } from '#shared/clock/clock';
import { connect, type ConnectOptions, type Connection } from '#shared/grpc/connect';
import type { ContractName, Contracts } from '#shared/grpc/contract';
import { serve, type GrpcServer, type ServeOptions } from '#shared/grpc/serve';

import { KeptLog } from './quiet-log.js';

/** Serves a service over loopback, and returns a client with a connection of its own. */
export interface OverGrpc<Name extends ContractName> {
  readonly service: Contracts[Name];
  readonly server: GrpcServer;
  readonly connection: Connection;
  readonly log: KeptLog;
  stop(): Promise<void>;
}

export interface OverGrpcOptions {
  readonly serve?: Partial<ServeOptions>;
  readonly connect?: Partial<ConnectOptions>;
}

export async function overGrpc<Name extends ContractName>(
  name: Name,
  service: Contracts[Name],
  options: OverGrpcOptions = {},
): Promise<OverGrpc<Name>> {
  const log = new KeptLog();
  const services = { [name]: service } as Partial<Contracts>;
  const place = { host: '127.0.0.1', port: 0, clock: systemClock, log };
  const server = await serve({ ...place, services, ...options.serve });
  const connection = connect(`127.0.0.1:${server.port}`, { clock: systemClock, ...options.connect });
  return {
    service: connection.client(name),
    server,
    connection,
    log,
    async stop() {
      connection.close();
      await server.stop(0);
    },
  };
}
