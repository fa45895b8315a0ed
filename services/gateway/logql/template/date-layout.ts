/** Prints times by the layouts of Go, in UTC: `2006-01-02T15:04:05.000Z07:00`. */

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const PARTS =
  /2006|January|Jan|Monday|Mon|01|02|_2|15|03|04|05|06|PM|pm|MST|Z07:00|-07:00|-0700|[.,]0+|[.,]9+|1|2|3|4|5/g;

const two = (value: number): string => String(value).padStart(2, '0');

/** Returns a time in a layout. */
export function printDate(layout: string, at: Date): string {
  const hour = at.getUTCHours();
  const parts: Readonly<Record<string, string>> = {
    '2006': String(at.getUTCFullYear()),
    '06': two(at.getUTCFullYear() % 100),
    January: MONTHS[at.getUTCMonth()],
    Jan: MONTHS[at.getUTCMonth()].slice(0, 3),
    '01': two(at.getUTCMonth() + 1),
    '1': String(at.getUTCMonth() + 1),
    Monday: DAYS[at.getUTCDay()],
    Mon: DAYS[at.getUTCDay()].slice(0, 3),
    '02': two(at.getUTCDate()),
    _2: String(at.getUTCDate()).padStart(2),
    '2': String(at.getUTCDate()),
    '15': two(hour),
    '03': two(hour % 12 === 0 ? 12 : hour % 12),
    '3': String(hour % 12 === 0 ? 12 : hour % 12),
    '04': two(at.getUTCMinutes()),
    '4': String(at.getUTCMinutes()),
    '05': two(at.getUTCSeconds()),
    '5': String(at.getUTCSeconds()),
    PM: hour < 12 ? 'AM' : 'PM',
    pm: hour < 12 ? 'am' : 'pm',
    MST: 'UTC',
    'Z07:00': 'Z',
    '-07:00': '+00:00',
    '-0700': '+0000',
  };
  return layout.replaceAll(PARTS, (part) => parts[part] ?? fraction(part, at.getUTCMilliseconds()));
}

function fraction(part: string, ms: number): string {
  const digits = String(ms)
    .padStart(3, '0')
    .padEnd(9, '0')
    .slice(0, part.length - 1);
  const shown = part[1] === '9' ? digits.replace(/0+$/, '') : digits;
  return shown === '' ? '' : part[0] + shown;
}
