import { chmodSync, readFileSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { readCertificateSet } from '#shared/tls/certificate';
import { TestCa, type KeyPairFiles } from '#test/support/certificates';
import { thrown } from '#test/support/failure';
import { tempFolder } from '#test/support/temp-folder';

describe('readCertificateSet', () => {
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let ca: TestCa;
  let pair: KeyPairFiles;

  before(() => {
    folder = tempFolder((after) => (cleanUp = after));
    ca = new TestCa(folder);
    pair = ca.issue('server');
  });

  after(() => cleanUp());

  /** The message for these paths, `server` being the pair that is right. */
  function problem(paths: { certPath?: string; keyPath?: string; caCertPath?: string }): string {
    const error = thrown(() => readCertificateSet('http.tls', { certPath: pair.cert, keyPath: pair.key, ...paths }));
    expect(error.code).to.equal('invalid_arguments');
    return error.message.replaceAll(`${folder}/`, '');
  }

  function file(name: string, text: string): string {
    writeFileSync(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  }

  it('returns a pair with its subject and dates', () => {
    const set = readCertificateSet('http.tls', { certPath: pair.cert, keyPath: pair.key, caCertPath: ca.cert });
    expect(set).to.include({ cert: readFileSync(pair.cert, 'utf8'), key: readFileSync(pair.key, 'utf8') });
    expect(set).to.include({ ca: readFileSync(ca.cert, 'utf8'), subject: 'CN=server' });
    expect(set.notAfterMs - set.notBeforeMs).to.equal(2 * 86_400_000);
  });

  it('refuses files that are missing or cannot be read', () => {
    expect(problem({ certPath: `${folder}/none` })).to.equal('http.tls.cert_path: the file "none" does not exist');
    expect(problem({ keyPath: folder }))
      .to.contain('http.tls.key_path: ')
      .and.contain(' cannot be read: ');
    if (process.getuid?.() === 0) return;
    const secret = file('secret.key', readFileSync(pair.key, 'utf8'));
    chmodSync(secret, 0o000);
    expect(problem({ keyPath: secret })).to.contain('EACCES');
  });

  it('refuses what is not PEM, or something else in PEM', () => {
    const noPem = 'is not a PEM file: it has no line "-----BEGIN .."';
    expect(problem({ certPath: file('text', 'a text') })).to.equal(`http.tls.cert_path: the file "text" ${noPem}`);
    expect(problem({ caCertPath: file('empty', '') })).to.equal(`http.tls.ca_cert_path: the file "empty" ${noPem}`);
    const key = pair.key;
    expect(problem({ certPath: key })).to.equal('http.tls.cert_path: the file "server.key" has no certificate');
    expect(problem({ keyPath: pair.cert })).to.contain('"server.crt" has no valid private key');
    const cut = readFileSync(pair.cert, 'utf8').slice(0, 200);
    expect(problem({ certPath: file('cut.crt', cut) })).to.contain('"cut.crt" has no valid certificate');
  });

  it('refuses a malformed certificate after the first one', () => {
    const malformed = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const cas = file('cas.crt', readFileSync(ca.cert, 'utf8') + malformed);
    expect(problem({ caCertPath: cas })).to.contain(
      'http.tls.ca_cert_path: the file "cas.crt" has no valid certificate at position 2',
    );
    const chain = file('chain.crt', readFileSync(pair.cert, 'utf8') + malformed);
    expect(problem({ certPath: chain })).to.contain('"chain.crt" has no valid certificate at position 2');
  });

  it('refuses a key that is encrypted or belongs to another certificate', () => {
    const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n';
    expect(problem({ keyPath: file('encrypted.key', encrypted) })).to.contain('write it without a passphrase');
    expect(problem({ keyPath: ca.issue('other').key })).to.equal(
      'http.tls.key_path: the file "other.key" is not the private key of the certificate "server.crt"',
    );
  });
});
