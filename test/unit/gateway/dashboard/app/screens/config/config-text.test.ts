import { expect } from 'chai';

import { filterConfig, parseConfig } from '#services/gateway/dashboard/app/screens/config/config-text';

const TOML = `naming = "almanac" # default
data = "a # \\"b\\" # c" # almanac.toml:3:1

[http]
addr = "127.0.0.1:4000" # flag --http-addr
origins = ["a#b", "c"] # environment ALMANAC_HTTP__ORIGINS
limit = 64

[empty]
`;

describe('the configuration page', () => {
  const sections = parseConfig(TOML);

  it('reads keys, values with any characters, and sources', () => {
    expect(sections).to.deep.equal([
      {
        name: '',
        entries: [
          { name: 'naming', value: '"almanac"', source: 'default' },
          { name: 'data', value: '"a # \\"b\\" # c"', source: 'almanac.toml:3:1' },
        ],
      },
      {
        name: 'http',
        entries: [
          { name: 'addr', value: '"127.0.0.1:4000"', source: 'flag --http-addr' },
          { name: 'origins', value: '["a#b", "c"]', source: 'environment ALMANAC_HTTP__ORIGINS' },
          { name: 'limit', value: '64', source: 'default' },
        ],
      },
    ]);
  });

  it('finds keys by words of their paths, values and sources', () => {
    const found = (search: string, isChangedOnly = false): string[] =>
      filterConfig(sections, { search, isChangedOnly }).flatMap(({ entries }) => entries.map(({ name }) => name));
    expect(found('')).to.have.length(5);
    expect(found('HTTP.addr')).to.deep.equal(['addr']);
    expect(found('environment http')).to.deep.equal(['origins']);
    expect(found('127.0')).to.deep.equal(['addr']);
    expect(found('', true)).to.deep.equal(['data', 'addr', 'origins']);
    expect(found('limit', true)).to.deep.equal([]);
  });
});
