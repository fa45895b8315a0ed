import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import { saysVersions } from '#shared/schema/version-options';
import type { WriteOptions } from '#shared/write/writer-types';

import type { RequestContext } from '../../request-context.js';
import { databaseOfWrite } from '../common/database.js';
import { hintsOf } from '../common/hints.js';
import type { IngestOptions } from '../protocol.js';
import { precisionOf, type Precision } from './timestamp.js';

/** Options of one line protocol request. */
export interface LineprotoOptions extends IngestOptions {
  readonly precision: Precision;
}

/** Query parameters that name the database, by version of the route. */
const DATABASE_PARAMETERS = { v1: ['db'], v2: ['bucket', 'db'] } as const;

const TIME_TYPE = 'TimestampNanosecond';

/**
 * Returns a reader of the options of a write. @param mergeMode of tables that are created, unless a hint names one.
 *
 * @throws `invalid_arguments` for an unknown precision or a malformed hint.
 */
export function lineprotoOptions(
  version: 'v1' | 'v2',
  config: Config,
  mergeMode: string,
): (context: RequestContext) => LineprotoOptions {
  const prefix = config.defaultColumnPrefix === '' ? config.naming : config.defaultColumnPrefix;
  const timeIndex = { name: `${prefix}_timestamp`, type: TIME_TYPE };
  return (context) => {
    const word = context.query.get('precision') ?? '';
    const precision = word === '' ? 'ns' : precisionOf(word);
    if (precision === undefined) throw badPrecision(version, word);
    const hints = hintsOf(context);
    const write: WriteOptions = {
      database: databaseOfWrite(context, DATABASE_PARAMETERS[version]),
      create: config.autoCreateTable && hints.autoCreateTable !== false,
      timeIndex,
      ...tableOptions(hints.tableOptions, mergeMode),
      timeType: TIME_TYPE,
    };
    return { precision, write };
  };
}

function tableOptions(
  hints: Readonly<Record<string, string>>,
  mergeMode: string,
): Pick<WriteOptions, 'tableOptions' | 'isDefaultMergeMode'> {
  // Tables in append mode have no versions to merge.
  if (hints['append_mode'] === 'true') return { tableOptions: hints };
  return { tableOptions: { merge_mode: mergeMode, ...hints }, isDefaultMergeMode: !saysVersions(hints) };
}

function badPrecision(version: 'v1' | 'v2', word: string): AlmanacError {
  const text =
    version === 'v1' ? `invalid precision "${word}"` : 'invalid precision; valid precision units are ns, us, ms, and s';
  return new AlmanacError('invalid_arguments', text);
}
