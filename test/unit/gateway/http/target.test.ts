import { expect } from 'chai';

import { isAmbiguousPath, isPublicPath, parseTarget } from '#services/gateway/http/target';

describe('parseTarget', () => {
  it('separates path and query', () => {
    expect(parseTarget('/v1/sql?sql=a?b')).to.deep.equal({ path: '/v1/sql', search: 'sql=a?b' });
    expect(parseTarget('/')).to.deep.equal({ path: '/', search: '' });
    expect(parseTarget('//v1/sql')).to.deep.equal({ path: '//v1/sql', search: '' });
  });

  it('extracts the path of an absolute form', () => {
    expect(parseTarget('http://host:1/metrics?a')).to.deep.equal({ path: '/metrics', search: 'a' });
    expect(parseTarget('HTTPS://host/metrics')).to.deep.equal({ path: '/metrics', search: '' });
    expect(parseTarget('http://host')).to.deep.equal({ path: '/', search: '' });
    expect(parseTarget('http://v1/metrics')).to.deep.equal({ path: '/metrics', search: '' });
    expect(parseTarget('http://host?v1')).to.deep.equal({ path: '/', search: 'v1' });
  });

  it('rejects all other forms of a target', () => {
    for (const url of ['*', 'host:80', 'ftp://host/v1', 'v1/sql', '']) expect(parseTarget(url)).to.equal(undefined);
  });
});

describe('parseTarget with a path that a router could read as another one', () => {
  it('rejects backslashes, fragments and what is not printable ASCII', () => {
    for (const path of [
      '/v1\\sql',
      '\\v1/sql',
      '/v1/sql#',
      '/metrics#/v1',
      '/v1/ sql',
      '/v1\u00a0/sql',
      '/v1/é',
      '/v1\u007f',
    ]) {
      expect(parseTarget(path), path).to.equal(undefined);
      expect(parseTarget(`${path}?a=1`), path).to.equal(undefined);
      expect(parseTarget(`http://host/${path}`), path).to.equal(undefined);
    }
    expect(parseTarget('/v1/a%5cb!"$[]~?b=\\#')).to.deep.equal({ path: '/v1/a%5cb!"$[]~', search: 'b=\\#' });
  });
});

describe('isPublicPath', () => {
  it('serves what is below /v1 and /dashboard', () => {
    for (const path of ['/v1', '/v1/', '/v1/sql', '/v1/a%20b', '/v1//x', '/v1/x.y', '/dashboard', '/dashboard/a.js']) {
      expect(isPublicPath(path), path).to.equal(true);
    }
  });

  it('serves nothing else', () => {
    const paths = ['/', '/metrics', '/v10/sql', '/v1-internal', '/dashboard-admin', '//v1/sql', '/V1/sql', '/v1%2fsql'];
    for (const path of [...paths, '/%76%31/sql', '/metrics;/v1', '/Dashboard/', '']) {
      expect(isPublicPath(path), path).to.equal(false);
    }
  });

  it('serves no path that could be read as another one', () => {
    const paths = [
      '/v1/../metrics',
      '/v1/./x',
      '/v1/..',
      '/v1/%2e%2e/metrics',
      '/v1/%2E%2e/metrics',
      '/v1/.%2e/metrics',
    ];
    const encoded = ['/v1/..%2fmetrics', '/v1/%252e%252e/metrics', '/v1/%25252e%25252e/metrics', '/v1/%zz', '/v1/%ff'];
    const others = [
      '/v1/..\\metrics',
      '/v1\\..\\metrics',
      '/v1/%5c..%5cmetrics',
      '/v1/..;/metrics',
      '/v1/a\u0000b',
      '/v1/%00',
    ];
    for (const path of [...paths, ...encoded, ...others]) expect(isPublicPath(path), path).to.equal(false);
  });
});

describe('isAmbiguousPath', () => {
  it('leaves usual paths unchanged', () => {
    for (const path of ['/a/b-c_d', '/a/b.c', '/a/...', '/a/b..c', '/a%20b', '/a%2Fb', '/%C3%A9']) {
      expect(isAmbiguousPath(path), path).to.equal(false);
    }
  });
});
