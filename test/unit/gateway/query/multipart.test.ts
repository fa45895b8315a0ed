import { expect } from 'chai';

import { multipartFields } from '#services/gateway/query/multipart';

const TYPE = 'multipart/form-data; boundary=x-1';

describe('multipart forms', () => {
  function fields(lines: readonly string[], type = TYPE): [string, string][] {
    return multipartFields(type, Buffer.from(lines.join('\r\n'))).map(([name, content]) => [name, content.toString()]);
  }

  const part = (name: string, text: string): string[] => [`Content-Disposition: form-data; name="${name}"`, '', text];

  it('return their fields in order', () => {
    const lines = ['--x-1', ...part('query', 'ü\r\n--x'), '--x-1', ...part('match[]', ''), '--x-1--', ''];
    const expected = [
      ['query', 'ü\r\n--x'],
      ['match[]', ''],
    ];
    expect(fields(lines)).to.deep.equal(expected);
    expect(fields(['preamble', ...lines], 'multipart/form-data; charset=utf-8; boundary="x-1"')).to.deep.equal(
      expected,
    );
    expect(fields(['--x-1--'])).to.deep.equal([]);
  });

  it('find the name among other parameters', () => {
    const head = ['Content-Type: text/plain', 'content-disposition: form-data; filename="name=a"; name="b"'];
    expect(fields(['--x-1', ...head, '', 'c', '--x-1--'])).to.deep.equal([['b', 'c']]);
    expect(fields(['--x-1', 'Content-Type: text/plain', '', 'c', '--x-1--'])).to.deep.equal([]);
  });

  it('are refused unless they are complete', () => {
    const whole = ['--x-1', ...part('a', 'b'), '--x-1--'];
    for (const lines of [[], ['x'], whole.slice(0, -1), ['--x-1', 'no head', '--x-1--']]) {
      expect(() => fields(lines)).to.throw('error parsing form values');
    }
    expect(() => fields(whole, 'multipart/form-data')).to.throw('error parsing form values');
  });
});
