import { buildError, itemError } from '../../build-error.js';
import type { Options } from '../../options.js';
import { isArray, isObject, shortened, type PipelineValue } from '../../values/value.js';
import { eachText, required, type ProcessorKind } from '../processor.js';
import { ipBytes } from './ip-bytes.js';
import { NetworkTrie } from './network-trie.js';

/** Networks of one processor: 5,000 of IPv6 take 10 MiB. */
const NETWORKS_MAX = 5_000;

/** Labels addresses by the networks that they are in. */
export const cidr: ProcessorKind = {
  name: 'cidr',
  build(options, slots) {
    const { trie, labels } = readNetworks(options);
    const target = slots.slotOf(options.text('target') ?? 'network');
    const byDefault = options.text('default');
    return eachText('cidr', options, slots, (item, { from, to, key }) => {
      const text = item.text(from);
      const bytes = ipBytes(text);
      if (bytes === undefined) throw itemError(`Processor cidr: "${key}" is no IP address: ${shortened(text)}`);
      const found = trie.find(bytes);
      const label = found === undefined ? byDefault : labels[found];
      if (label !== undefined) item.setText(to === from ? target : to, label);
    });
  },
};

function readNetworks(options: Options): { readonly trie: NetworkTrie; readonly labels: readonly string[] } {
  const given = required(options.value('networks'), 'Processor cidr: missing field: networks');
  if (!isObject(given)) throw buildError('Field networks must be a map from labels to networks');
  const trie = new NetworkTrie();
  const labels = [...given.keys()];
  let count = 0;
  for (const [label, networks] of [...given.values()].map(networksOf).entries()) {
    count += networks.length;
    if (count > NETWORKS_MAX) throw buildError(`Processor cidr: more than ${NETWORKS_MAX} networks`);
    for (const network of networks) {
      if (trie.add(network, label)) continue;
      throw buildError(`Processor cidr: "${shortened(network)}" is no network such as 10.0.0.0/8 or 2001:db8::/32`);
    }
  }
  return { trie, labels };
}

function networksOf(given: PipelineValue): readonly string[] {
  const networks = isArray(given) ? given : [given];
  return networks.map((network) => {
    if (typeof network === 'string') return network;
    throw buildError('Field networks must be a map from labels to networks');
  });
}
