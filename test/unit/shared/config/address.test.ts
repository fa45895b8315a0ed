import { expect } from 'chai';

import { advertisedAddress, isEveryAddress, isLoopbackAddress, localAddress } from '#shared/config/address';

describe('advertisedAddress', () => {
  function advertised(bindAddr: string, advertiseAddr?: string): Promise<string> {
    return advertisedAddress({ advertiseAddr, bindAddr, port: 4_011, ownHost: () => Promise.resolve('10.0.0.9') });
  }

  it('returns the own host for a listener on every address', async () => {
    expect(await advertised('0.0.0.0:4011')).to.equal('10.0.0.9:4011');
    expect(await advertised('[::]:0')).to.equal('10.0.0.9:4011');
    expect(await advertised('[0:0:0:0:0:0:0:0]:4011')).to.equal('10.0.0.9:4011');
  });

  it('returns the address itself otherwise, with the port of the listener', async () => {
    expect(await advertised('127.0.0.1:0')).to.equal('127.0.0.1:4011');
    expect(await advertised('10.0.0.5:4011')).to.equal('10.0.0.5:4011');
    expect(await advertised('[fd00::5]:4011')).to.equal('[fd00::5]:4011');
  });

  it('returns what was configured, if anything', async () => {
    expect(await advertised('0.0.0.0:4011', 'ingester-0.example:14011')).to.equal('ingester-0.example:14011');
  });
});

describe('localAddress', () => {
  it('reaches a listener on every address by the loopback address', () => {
    expect(localAddress('0.0.0.0:4000')).to.equal('127.0.0.1:4000');
    expect(localAddress('[::]:4000')).to.equal('[::1]:4000');
    expect(localAddress('10.0.0.5:4000')).to.equal('10.0.0.5:4000');
    expect(isEveryAddress('[::1]:4000')).to.equal(false);
    expect(isEveryAddress('10.0.0.0:4000')).to.equal(false);
  });
});

describe('isLoopbackAddress', () => {
  it('accepts addresses that only this machine reaches', () => {
    for (const address of ['127.0.0.1:4001', '127.1.2.3:0', 'localhost:4001', '[::1]:4001', '[0:0:0:0:0:0:0:1]:4001']) {
      expect(isLoopbackAddress(address), address).to.equal(true);
    }
    for (const address of [
      '0.0.0.0:4001',
      '[::]:4001',
      '10.0.0.1:4001',
      'node1:4001',
      '[fd00::1]:1',
      '127.evil.org:1',
    ]) {
      expect(isLoopbackAddress(address), address).to.equal(false);
    }
  });
});
