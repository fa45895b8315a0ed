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
  /** By which the others reach this machine; asked for if the listener is on every address. */
  readonly ownHost: () => Promise<string>;
}

/** The address that a process tells the others. @throws what `ownHost` throws. */
export async function advertisedAddress({ advertiseAddr, bindAddr, port, ownHost }: Advertised): Promise<string> {
  if (advertiseAddr !== undefined) return advertiseAddr;
  const host = isEveryAddress(bindAddr) ? await ownHost() : bindAddr.slice(0, bindAddr.lastIndexOf(':'));
  return `${host}:${port}`;
}
