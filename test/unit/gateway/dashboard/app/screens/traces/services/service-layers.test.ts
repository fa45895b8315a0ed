import { expect } from 'chai';
import fc from 'fast-check';

import { serviceLayers } from '#services/gateway/dashboard/app/screens/traces/services/service-layers';

const call = ([parent, child]: readonly [string, string]) => ({ parent, child, callCount: 1 });
const layersOf = (...pairs: readonly (readonly [string, string])[]): Record<string, number> =>
  Object.fromEntries(serviceLayers(pairs.map(call)).services.map(({ name, layer }) => [name, layer]));

describe('the layers of services', () => {
  it('are those of the longest chains of calls', () => {
    expect(layersOf(['web', 'shop'], ['shop', 'bank'], ['web', 'bank'], ['cron', 'bank'])).to.deep.equal({
      web: 0,
      cron: 0,
      shop: 1,
      bank: 2,
    });
  });

  it('exist when services call each other in a circle, or themselves', () => {
    expect(layersOf(['web', 'a'], ['a', 'b'], ['b', 'a'], ['b', 'b'])).to.deep.equal({ web: 0, a: 1, b: 2 });
    expect(serviceLayers([])).to.deep.equal({ services: [], layerCount: 0, rowCount: 0 });
  });

  it('have the services in an order in which lines do not cross without need', () => {
    const { services } = serviceLayers(
      (
        [
          ['a', 'z'],
          ['b', 'y'],
          ['c', 'x'],
        ] as const
      ).map(call),
    );
    const row = (wanted: string): number => services.find(({ name }) => name === wanted)?.row ?? -1;
    expect([row('z'), row('y'), row('x')]).to.deep.equal([row('a'), row('b'), row('c')]);
  });

  it('have each service once, and callers left of what they call where there is no circle', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, name), { maxLength: 30 }), (pairs) => {
        const { services } = serviceLayers(pairs.map(call));
        const layers = new Map(services.map(({ name: service, layer }) => [service, layer]));
        expect([...layers.keys()].sort()).to.deep.equal([...new Set(pairs.flat())].sort());
        expect(services).to.have.length(layers.size);
        // Calls in the order of the alphabet close no circle.
        const forward = pairs.filter(([parent, child]) => parent < child);
        const placed = new Map(serviceLayers(forward.map(call)).services.map((it) => [it.name, it.layer]));
        return forward.every(([parent, child]) => (placed.get(parent) ?? NaN) < (placed.get(child) ?? NaN));
      }),
    );
  });
});
