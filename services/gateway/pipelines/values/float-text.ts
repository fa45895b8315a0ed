const EXPONENT = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/;

/** Returns the shortest digits that read back as the number: never with an exponent, integers without `.0`. */
export function printFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const text = Object.is(value, -0) ? '-0' : String(value);
  const match = EXPONENT.exec(text);
  if (match === null) return text;
  const [, sign, first, rest = '', exponentText] = match;
  const digits = first + rest;
  const exponent = Number(exponentText);
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, '0');
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}
