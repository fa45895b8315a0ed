import { expect } from 'chai';

import { parsePipelineKeys } from '#services/gateway/pipelines/config';
import { buildFailure, pipelineResources, TestPipeline } from '#test/support/pipeline-item';

const resources = pipelineResources({ keys: parsePipelineKeys('users = 0123456789abcdef\nother=fedcba9876543210') });

function redact(options: string, json: string): string {
  return new TestPipeline(`- redact: {${options}}`, resources).run(json);
}

function masked(preset: string, text: string): string {
  const json = redact(`field: m, presets: [${preset}]`, JSON.stringify({ m: text }));
  return (JSON.parse(json) as { m: string }).m;
}

describe('redact', () => {
  const cases: readonly (readonly [preset: string, text: string, expected: string])[] = [
    ['email', 'from kim.x+1@mail.example.org, to a@b', 'from ***, to a@b'],
    ['email', '<a@b.de>a@c.org.', '<***>***.'],
    ['ipv4', 'at 10.0.0.7:80, 256.1.1.1, 1.2.3.4.5, v1.2.3.4', 'at ***:80, 256.1.1.1, 1.2.3.4.5, v1.2.3.4'],
    [
      'ipv6',
      'from fe80::1: [2001:db8::7]:80 at 12:30:45 std::dead ::ffff:10.0.0.1.',
      'from ***: [***]:80 at 12:30:45 std::dead ***.',
    ],
    ['credit_card', 'card 4111 1111 1111 1111, 4111111111111111 4111-1111-1111-1111', 'card ***, *** ***'],
    ['credit_card', 'in 2024 4111 1111 1111 1111 and 3782 822463 10005', 'in 2024 *** and ***'],
    [
      'credit_card',
      '4111 1111 1111 1112 1700000000000 41111111111111111111',
      '4111 1111 1111 1112 1700000000000 41111111111111111111',
    ],
    ['jwt', 'token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_ ok eyJ.x', 'token=*** ok eyJ.x'],
    ['aws_key', 'key AKIAIOSFODNN7EXAMPLE, xAKIAIOSFODNN7EXAMPLE', 'key ***, xAKIAIOSFODNN7EXAMPLE'],
    ['bearer', 'Authorization: Bearer abc.DEF-1==; bearer', 'Authorization: Bearer ***; bearer'],
    [
      'uuid',
      'id 550e8400-e29b-41d4-a716-446655440000 x550e8400-e29b-41d4-a716-446655440000',
      'id *** x550e8400-e29b-41d4-a716-446655440000',
    ],
  ];
  for (const [preset, text, expected] of cases) {
    it(`${preset}: ${text.slice(0, 50)}`, () => expect(masked(preset, text)).to.equal(expected));
  }

  it('redacts numbers, and texts and keys inside of arrays and objects', () => {
    const item = '{"card":4111111111111111,"n":7,"o":{"a@b.de":[{"x":"a@c.org"},true,null]}}';
    expect(redact('presets: [email, credit_card]', item)).to.equal(
      '{"card":"***","n":7,"o":{"***":[{"x":"***"},true,null]}}',
    );
  });

  it('redacts matches of patterns, and secrets that overlap as one', () => {
    const options = `field: m, presets: [email], patterns: ['pin=\\d+', 'kim\\S*']`;
    expect(redact(options, '{"m":"pin=123 kim@ex.org/x pin="}')).to.equal('{"m":"*** *** pin="}');
  });

  it('removes secrets', () => {
    expect(
      redact('field: m, presets: [uuid], mode: remove', '{"m":"a 550e8400-e29b-41d4-a716-446655440000 b"}'),
    ).to.equal('{"m":"a  b"}');
  });

  it('hashes secrets with a key, so that equal ones stay equal', () => {
    const hashed = (key: string, text: string): string => {
      const json = redact(`field: m, presets: [email], mode: hash, key_ref: ${key}`, JSON.stringify({ m: text }));
      return (JSON.parse(json) as { m: string }).m;
    };
    expect(hashed('users', 'kim@ex.org')).to.match(/^[0-9a-f]{32}$/);
    expect(hashed('users', 'by kim@ex.org')).to.equal(`by ${hashed('users', 'kim@ex.org')}`);
    expect(hashed('users', 'kim@ex.org')).not.to.equal(hashed('other', 'kim@ex.org'));
  });

  it('fails an item without the field, unless that is ignored', () => {
    expect(new TestPipeline('- redact: {field: m, presets: [email]}').failure('{"a":1}')).to.contain(
      'missing field: m',
    );
    expect(redact('field: m, presets: [email], ignore_missing: true', '{"a":1}')).to.equal('{"a":1}');
  });

  it('reads hostile texts in linear time', () => {
    const pipeline = new TestPipeline(
      '- redact: {presets: [email, ipv4, ipv6, credit_card, jwt, aws_key, bearer, uuid]}',
    );
    const parts = [
      'a',
      '@',
      'a@',
      'a.',
      '1.',
      ':',
      '1',
      '4111 ',
      'eyJ',
      'eyJ.',
      'AKIA',
      'bearer ',
      ' ',
      '-',
      'dead-',
      '4111',
    ];
    const startMs = performance.now();
    for (const part of parts) pipeline.run(JSON.stringify({ m: part.repeat(200_000 / part.length) }));
    expect(performance.now() - startMs).to.be.lessThan(10_000);
  });

  const refused: readonly (readonly [options: string, message: string])[] = [
    ['field: m', 'missing field: presets or patterns'],
    ['field: m, presets: [pin]', 'unknown preset "pin": use one of email, ipv4'],
    ['field: m, presets: [email], mode: blur', 'unknown mode "blur": use one of mask, remove, hash'],
    ['field: m, presets: [email], mode: hash', 'mode hash needs key_ref'],
    ['field: m, presets: [email], mode: hash, key_ref: none', 'key_ref "none" is no key of the configuration'],
    ['field: "m, n", presets: [email]', 'cannot be renamed'],
    ['field: m, patterns: ["("]', 'Invalid regex pattern'],
  ];
  for (const [options, message] of refused) {
    it(`refuses ${options}`, () => expect(buildFailure(`- redact: {${options}}`)).to.contain(message));
  }
});

describe('keys of pipelines', () => {
  const refused: readonly (readonly [text: string, message: string])[] = [
    ['secretsecretsecret', 'entry 1 has no name of letters'],
    ['a=short', 'key "a" is shorter than 16 characters'],
    ['a=0123456789abcdef,a=0123456789abcdef', 'key "a" is listed twice'],
  ];
  for (const [text, message] of refused) {
    it(`refuses: ${message}`, () => {
      expect(() => parsePipelineKeys(text)).to.throw(message);
      expect(() => parsePipelineKeys(text)).not.to.throw(/secretsecret|short$|0123/);
    });
  }
});
