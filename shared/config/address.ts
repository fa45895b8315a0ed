/** Is this `host:port` every address of the machine? One can listen on it, but not call it. */
export function isEveryAddress(address: string): boolean {
  return EVERY.test(address);
}

const EVERY = /^(0\.0\.0\.0|\[[0:]+\]):/;

/** The address under which the machine itself reaches a listener, also one on every address. */
export function localAddress(bindAddr: string): string {
  return bindAddr.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[[0:]+\]:/, '[::1]:');
}

export interface Advertised {
  /** `node.advertise_addr`: wins if it is set. */
  readonly advertiseAddr: string | undefined;
  /** `grpc.bind_addr` */
  readonly bindAddr: string;
  /** The port that the listener has, which differs from that of `bindAddr` if that is 0. */
  readonly port: number;
  readonly hostName: string;
}

/** The address that a process tells the others: they reach one on every address by the name of its host. */
export function advertisedAddress({ advertiseAddr, bindAddr, port, hostName }: Advertised): string {
  if (advertiseAddr !== undefined) return advertiseAddr;
  const host = isEveryAddress(bindAddr) ? hostName : bindAddr.slice(0, bindAddr.lastIndexOf(':'));
  return `${host}:${port}`;
}
