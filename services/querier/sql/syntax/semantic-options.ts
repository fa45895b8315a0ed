import type { Column } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

const PREFIX = /^(?:greptime|almanac)\.semantic\./;

/** Values of options that say what the rows of a table mean; undefined: any text. */
const KEYS: Readonly<Record<string, readonly string[] | undefined>> = {
  signal_type: ['metric', 'log', 'trace', 'mixed'],
  source: undefined,
  source_version: undefined,
  pipeline: undefined,
  'metric.type': [
    ...['counter', 'updown_counter', 'gauge', 'histogram', 'gauge_histogram', 'summary', 'info', 'stateset'],
    ...['unknown', 'mixed'],
  ],
  'metric.unit': undefined,
  'metric.temporality': ['delta', 'cumulative', 'mixed'],
  'metric.original_name': undefined,
  'metric.metadata_quality': ['declared', 'inferred', 'mixed'],
  'trace.conventions': undefined,
};

/** What a column can be to an entity: `entity.service.instance.id` names the column with its ID. */
const ENTITY = /^entity\.[a-z][a-z0-9_.]*\.(?:id|scope|descriptive)$/;

/** Returns whether an option says what rows mean. */
export function isSemanticKey(key: string): boolean {
  return PREFIX.test(key);
}

/**
 * Checks one option that says what the rows of a table mean.
 *
 * @throws `invalid_arguments`, `column_not_found`.
 */
export function checkSemanticOption(
  { key, value }: { readonly key: string; readonly value: string },
  { name, columns }: { readonly name: string; readonly columns: readonly Column[] },
): void {
  const refused = (text: string): AlmanacError =>
    new AlmanacError('invalid_arguments', `Invalid alter table(${name}) request: ${text}`);
  const short = key.replace(PREFIX, '');
  if (ENTITY.test(short)) {
    for (const wanted of value.split(',').map((part) => part.trim())) {
      const column = columns.find((it) => it.name === wanted);
      if (column === undefined) {
        throw new AlmanacError('column_not_found', `Column ${wanted} not exists in table ${name}`);
      }
      if (!/^(?:Binary|Vector|Json2?\b)/.test(column.type)) continue;
      throw refused(
        `entity column \`${wanted}\` (option \`${key}\`) has type \`${column.type}\`, which cannot render as a string`,
      );
    }
    return;
  }
  if (!Object.hasOwn(KEYS, short)) throw refused(`unknown semantic option \`${key}\``);
  if (KEYS[short]?.includes(value) === false) {
    throw refused(`invalid value \`${value}\` for semantic option \`${key}\``);
  }
}
