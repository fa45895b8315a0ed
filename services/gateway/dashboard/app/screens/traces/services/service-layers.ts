/** Calls of one service by another. */
export interface ServiceCalls {
  readonly parent: string;
  readonly child: string;
  readonly callCount: number;
}

/** A service with its place in the drawing. */
export interface PlacedService {
  readonly name: string;
  /** From the left: callers are left of what they call, except for calls that close a circle. */
  readonly layer: number;
  /** From the top of its layer. */
  readonly row: number;
}

/** Services with their places. */
export interface ServiceLayers {
  readonly services: readonly PlacedService[];
  readonly layerCount: number;
  /** Of the layer with the most services. */
  readonly rowCount: number;
}

/** Each one moves services closer to those that they call or that call them. */
const SWEEPS = 4;

/** Divides services into layers by the longest chains of calls, and orders each layer so that few lines cross. */
export function serviceLayers(calls: readonly ServiceCalls[]): ServiceLayers {
  const names = [...new Set(calls.flatMap(({ parent, child }) => [parent, child]))].sort();
  const callees = new Map(names.map((name) => [name, new Set<string>()]));
  for (const { parent, child } of calls) if (parent !== child) callees.get(parent)?.add(child);
  const { order, forward } = withoutCircles(names, callees);
  const layerOf = new Map<string, number>();
  // Callers come first, so that the layer of a service is final when its callees are looked at.
  for (const name of order) {
    const layer = layerOf.get(name) ?? 0;
    layerOf.set(name, layer);
    for (const callee of forward.get(name) ?? []) {
      layerOf.set(callee, Math.max(layerOf.get(callee) ?? 0, layer + 1));
    }
  }
  const layers: string[][] = [];
  for (const name of names) (layers[layerOf.get(name) ?? 0] ??= []).push(name);
  const sorted = sortedLayers(layers, neighboursOf(calls));
  return {
    services: sorted.flatMap((layer, i) => layer.map((name, row) => ({ name, layer: i, row }))),
    layerCount: sorted.length,
    rowCount: Math.max(0, ...sorted.map(({ length }) => length)),
  };
}

/** Returns callers before what they call, and the calls without those that close a circle. */
function withoutCircles(
  names: readonly string[],
  callees: ReadonlyMap<string, ReadonlySet<string>>,
): { readonly order: string[]; readonly forward: Map<string, string[]> } {
  const callerCount = new Map<string, number>();
  for (const called of [...callees.values()].flatMap((all) => [...all])) {
    callerCount.set(called, (callerCount.get(called) ?? 0) + 1);
  }
  const surplus = (name: string): number => (callerCount.get(name) ?? 0) - (callees.get(name)?.size ?? 0);
  const isCalled = (name: string): number => Math.min(1, callerCount.get(name) ?? 0);
  // In a circle the service that calls more than it is called is likely to be the first.
  const starts = [...names].sort((a, b) => isCalled(a) - isCalled(b) || surplus(a) - surplus(b));
  const state = new Map<string, 'open' | 'done'>();
  const forward = new Map<string, string[]>();
  const finished: string[] = [];
  for (const start of starts) {
    if (state.has(start)) continue;
    // Chains may be too deep for recursion.
    const path = [{ name: start, rest: [...(callees.get(start) ?? [])] }];
    state.set(start, 'open');
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const callee = top.rest.shift();
      if (callee === undefined) {
        state.set(top.name, 'done');
        finished.push(top.name);
        path.pop();
      } else if (state.get(callee) !== 'open') {
        forward.set(top.name, [...(forward.get(top.name) ?? []), callee]);
        if (state.has(callee)) continue;
        state.set(callee, 'open');
        path.push({ name: callee, rest: [...(callees.get(callee) ?? [])] });
      }
    }
  }
  return { order: finished.reverse(), forward };
}

function neighboursOf(calls: readonly ServiceCalls[]): ReadonlyMap<string, readonly string[]> {
  const neighbours = new Map<string, string[]>();
  const add = (name: string, other: string): void => {
    const all = neighbours.get(name);
    if (all === undefined) neighbours.set(name, [other]);
    else all.push(other);
  };
  for (const { parent, child } of calls) {
    add(parent, child);
    add(child, parent);
  }
  return neighbours;
}

/** Orders each layer by the average places of its neighbours (Sugiyama's barycenters), from the left and from the right. */
function sortedLayers(
  layers: readonly (readonly string[])[],
  neighbours: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const sorted = [...layers];
  const placeOf = new Map<string, number>();
  // Shares of the height, because layers differ in length.
  const place = (layer: readonly string[]): void =>
    layer.forEach((name, row) => placeOf.set(name, (row + 0.5) / layer.length));
  const average = (name: string): number => {
    const places = (neighbours.get(name) ?? []).map((other) => placeOf.get(other) ?? 0.5);
    return places.length === 0 ? 0.5 : places.reduce((sum, one) => sum + one, 0) / places.length;
  };
  sorted.forEach(place);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let step = 0; step < sorted.length; step++) {
      const at = sweep % 2 === 0 ? step : sorted.length - 1 - step;
      const averages = new Map(sorted[at].map((name) => [name, average(name)]));
      sorted[at] = [...sorted[at]].sort((a, b) => (averages.get(a) ?? 0) - (averages.get(b) ?? 0));
      place(sorted[at]);
    }
  }
  return sorted;
}
