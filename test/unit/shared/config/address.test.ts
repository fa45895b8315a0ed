import { expect } from 'chai';

import { advertisedAddress, isEveryAddress, localAddress } from '#shared/config/address';

describe('advertisedAddress', () => {
  function advertised(bindAddr: string, advertiseAddr?: string): string {
    return advertisedAddress({ advertiseAddr, bindAddr, port: 4_011, hostName: 'a1b2c3' });
  }

  it('is the host name for a listener on every address', () => {
    expect(advertised('0.0.0.0:4011')).to.equal('a1b2c3:4011');
    expect(advertised('[::]:0')).to.equal('a1b2c3:4011');
    expect(advertised('[0:0:0:0:0:0:0:0]:4011')).to.equal('a1b2c3:4011');
  });

  it('is the address itself otherwise, with the port that the listener got', () => {
    expect(advertised('127.0.0.1:0')).to.equal('127.0.0.1:4011');
    expect(advertised('10.0.0.5:4011')).to.equal('10.0.0.5:4011');
    expect(advertised('[fd00::5]:4011')).to.equal('[fd00::5]:4011');
  });

  it('is what was configured, if anything was', () => {
    expect(advertised('0.0.0.0:4011', 'ingester-0.example:14011')).to.equal('ingester-0.example:14011');
  });
});

describe('localAddress', () => {
  it('reaches a listener on every address by the loopback one', () => {
    expect(localAddress('0.0.0.0:4000')).to.equal('127.0.0.1:4000');
    expect(localAddress('[::]:4000')).to.equal('[::1]:4000');
    expect(localAddress('10.0.0.5:4000')).to.equal('10.0.0.5:4000');
    expect(isEveryAddress('[::1]:4000')).to.equal(false);
    expect(isEveryAddress('10.0.0.0:4000')).to.equal(false);
  });
});
