/** Returns whether `host:port` means every address of the machine: such an address can be bound, but not called. */
export function isEveryAddress(address: string): boolean {
  return EVERY.test(address);
}

const EVERY = /^(0\.0\.0\.0|\[[0:]+\]):/;

/** Returns whether only this machine reaches a listener at `host:port`. */
export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.test(address);
}

const LOOPBACK = /^(localhost|127\.[0-9.]+|\[[0:]*:0*1\]):[0-9]+$/i;

/** Returns the address at which this machine reaches one of its own listeners, also one bound to every address. */
export function localAddress(bindAddr: string): string {
  return bindAddr.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[[0:]+\]:/, '[::1]:');
}

/** What determines the address that a process advertises. */
export interface Advertised {
  /** `node.advertise_addr`: takes precedence if it is set. */
  readonly advertiseAddr: string | undefined;
  /** `grpc.bind_addr` */
  readonly bindAddr: string;
  /** Port of the open listener; differs from that of `bindAddr` if that is 0. */
  readonly port: number;
  /** Finds the host by which other machines reach this one; called if the listener is bound to every address. */
  readonly ownHost: () => Promise<string>;
}

/** Returns the address that this process advertises to the cluster. @throws whatever `ownHost` throws. */
export async function advertisedAddress({ advertiseAddr, bindAddr, port, ownHost }: Advertised): Promise<string> {
  if (advertiseAddr !== undefined) return advertiseAddr;
  const host = isEveryAddress(bindAddr) ? await ownHost() : bindAddr.slice(0, bindAddr.lastIndexOf(':'));
  return `${host}:${port}`;
}
