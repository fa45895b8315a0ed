import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { resolved, type Part } from '#test/support/openapi-requests';

/** Returns `GET /v1/sql` and so on for every operation. */
function documented(document: Part): string[] {
  return Object.entries(document['paths'] as Part).flatMap(([path, operations]) =>
    Object.keys(resolved(document, operations)).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

describe('paths of the document of the HTTP API', () => {
  let rig: GatewayRig;
  let all: Part;

  before(async () => {
    rig = await startGatewayRig();
    all = (await (await fetch(`${rig.url}/v1/openapi.json`)).json()) as Part;
  });

  after(() => rig.gateway.stop());

  it('are those of the routes', () => {
    const served = rig.gateway.routes.flatMap(({ methods, path }) => {
      // The same path in the syntax of the document: `:name` and `*rest` are parameters, an optional rest is left out.
      const template = path.replace(/\{\/\*\w+\}$/, '').replaceAll(/[:*](\w+)/g, '{$1}');
      return methods.map((method) => `${method} ${template}`);
    });
    expect(documented(all).sort()).to.deep.equal([...served].sort());
  });

  it('are on the public listener only those that it serves', async () => {
    const visible = (await (await fetch(`${rig.publicUrl}/v1/openapi.json`)).json()) as Part;
    const expected = documented(all).filter((it) => / \/(v1|dashboard)(\/|$)/.test(it));
    expect(documented(visible)).to.deep.equal(expected);
    expect(JSON.stringify(visible)).to.not.contain('/debug/');
  });

  it('are without those of protocols that are turned off', async () => {
    const without = await startGatewayRig({ ALMANAC_SPLUNK__ENABLE: 'false' });
    try {
      const document = (await (await fetch(`${without.url}/v1/openapi.json`)).json()) as Part;
      expect(documented(document)).to.deep.equal(documented(all).filter((it) => !/splunk|eventcollector/.test(it)));
    } finally {
      await without.gateway.stop();
    }
  });
});
