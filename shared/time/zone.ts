import { AlmanacError } from '#shared/errors/almanac-error';

/** A session's time zone. */
export interface Zone {
  /** As SHOW VARIABLES prints it: a name, or an offset like `+08:00`. */
  readonly name: string;
  /** Offset from UTC at a local time, given as if it were UTC. */
  offsetMsOfLocal(localMs: number): number;
  /** Offset from UTC at an instant. */
  offsetMsAt(utcMs: number): number;
}

/** Coordinated Universal Time. */
export const UTC: Zone = { name: 'UTC', offsetMsOfLocal: () => 0, offsetMsAt: () => 0 };

const OFFSET = /^([+-]?)(\d{1,2}):(\d{2})$/;

/** Parses an IANA name or an offset such as `+08:00`. @throws `invalid_arguments` for any other text. */
export function parseZone(text: string): Zone {
  if (text === '' || /^(utc|z|\+?-?0?0:00|system)$/i.test(text)) return UTC;
  const match = OFFSET.exec(text);
  if (match !== null) return fixedZone(text, match);
  if (text.length > 64 || !/^[A-Za-z][\w/+-]*$/.test(text)) throw invalid(text);
  return namedZone(text);
}

function fixedZone(text: string, [, sign, hours, minutes]: RegExpExecArray): Zone {
  const size = Number(hours) * 60 + Number(minutes);
  if (size >= 24 * 60 || Number(minutes) > 59) throw invalid(text);
  const offsetMs = (sign === '-' ? -size : size) * 60_000;
  const name = `${sign === '-' ? '-' : '+'}${hours.padStart(2, '0')}:${minutes}`;
  return { name, offsetMsOfLocal: () => offsetMs, offsetMsAt: () => offsetMs };
}

function namedZone(name: string): Zone {
  const format = formatOf(name);
  const offsetAt = (utcMs: number): number => {
    const parts: Record<string, number> = {};
    for (const part of format.formatToParts(utcMs)) parts[part.type] = Number(part.value);
    const shown = Date.UTC(
      parts['year'],
      parts['month'] - 1,
      parts['day'],
      parts['hour'],
      parts['minute'],
      parts['second'],
    );
    return shown - Math.floor(utcMs / 1000) * 1000;
  };
  return {
    name,
    offsetMsAt: offsetAt,
    // The offset depends on the UTC time, which is not known yet, so it is approximated twice: only near a change could one step err.
    offsetMsOfLocal: (localMs) => offsetAt(localMs - offsetAt(localMs - offsetAt(localMs))),
  };
}

function formatOf(name: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    throw new AlmanacError('invalid_arguments', `Invalid timezone string: "${name}"`, { cause: error });
  }
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid timezone string: "${text.slice(0, 100)}"`);
}
