import { ipBytes } from './ip-bytes.js';

const NONE = -1;

/** Finds the smallest network that an address is in: one tree of bits for IPv4 and one for IPv6, in typed lists. */
export class NetworkTrie {
  /** Two children for each node; 0 is none. Nodes 0 and 1 are the roots. */
  readonly #children: number[] = [0, 0, 0, 0];
  readonly #labels: number[] = [NONE, NONE];

  /** Adds a network such as `10.0.0.0/8`, or a single address. @returns whether the text is one. */
  add(network: string, label: number): boolean {
    const [address, prefix, ...others] = network.split('/');
    const bytes = ipBytes(address.trim());
    if (bytes === undefined || others.length > 0) return false;
    const length = prefixLength(prefix, address, bytes.length * 8);
    if (length === undefined) return false;
    let node = rootOf(bytes);
    for (let bit = 0; bit < length; bit++) {
      const at = node * 2 + bitOf(bytes, bit);
      if (this.#children[at] === 0) this.#children[at] = this.#newNode();
      node = this.#children[at];
    }
    this.#labels[node] = label;
    return true;
  }

  /** Returns the label of the smallest network that has the address; undefined if there is none. */
  find(bytes: Uint8Array): number | undefined {
    let node = rootOf(bytes);
    let found = this.#labels[node];
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      node = this.#children[node * 2 + bitOf(bytes, bit)];
      if (node === 0) break;
      if (this.#labels[node] !== NONE) found = this.#labels[node];
    }
    return found === NONE ? undefined : found;
  }

  #newNode(): number {
    this.#children.push(0, 0);
    return this.#labels.push(NONE) - 1;
  }
}

/** Returns the length of a prefix; without one, that of the address. */
function prefixLength(prefix: string | undefined, address: string, bits: number): number | undefined {
  if (prefix === undefined) return bits;
  if (!/^[0-9]{1,3}$/.test(prefix)) return undefined;
  // An IPv4 address in an IPv6 one has the prefix of the longer form.
  const length = Number(prefix) - (bits === 32 && address.includes(':') ? 96 : 0);
  return length >= 0 && length <= bits ? length : undefined;
}

function rootOf(bytes: Uint8Array): number {
  return bytes.length === 4 ? 0 : 1;
}

function bitOf(bytes: Uint8Array, bit: number): number {
  return (bytes[bit >> 3] >> (7 - (bit & 7))) & 1;
}
