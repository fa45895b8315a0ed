import { isUtf8 } from 'node:buffer';

import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeDefinitions, decodeTags, NO_DEFINITIONS, type SeriesDefinition } from '#shared/rowbatch/definitions';
import { dataType } from '#shared/schema/data-type';
import { tagsOf } from '#shared/schema/table-schema';

import type { Region } from '../region/region.js';

/** Definitions checked between two looks at the clock, of some microseconds each. */
const DEFINITIONS_PER_LOOK = 64;

/** Definitions of a batch, and what is wrong with them. */
export interface CheckedDefinitions {
  readonly definitions: readonly SeriesDefinition[];
  readonly failure: AlmanacError | undefined;
}

/**
 * Decodes and checks the definitions of a batch, in slices, because there may be as many as rows. Returns a failure
 * instead of throwing it: a batch that was already applied is acknowledged whatever its table accepts now.
 */
export async function readDefinitions(region: Region, bytes: Uint8Array, clock: Clock): Promise<CheckedDefinitions> {
  // True for nearly all batches.
  if (Buffer.compare(bytes, NO_DEFINITIONS) === 0) return { definitions: [], failure: undefined };
  for (;;) {
    const { table } = region;
    const read = await readFor(table, bytes, new Slices(clock, { workPerLook: DEFINITIONS_PER_LOOK }));
    if (region.table === table) return read;
  }
}

async function readFor(table: Table, bytes: Uint8Array, slices: Slices): Promise<CheckedDefinitions> {
  try {
    const definitions = decodeDefinitions(bytes);
    await checkDefinitions(table, definitions, slices);
    return { definitions, failure: undefined };
  } catch (error) {
    return { definitions: [], failure: AlmanacError.from(error) };
  }
}

/**
 * Series are kept forever, so a definition that a series file could not hold, or would change, is refused before
 * anything of its batch is kept.
 *
 * @throws `invalid_arguments` unless all tags are columns of the table, in order, with values of their types.
 */
async function checkDefinitions(table: Table, definitions: readonly SeriesDefinition[], slices: Slices): Promise<void> {
  const isText = new Map(tagsOf(table).map(({ id, type }) => [id, dataType(type).storage !== 'binary']));
  for (const { tsid, tags } of definitions) {
    let before = -1;
    for (const { columnId, value } of decodeTags(tags)) {
      const isTextTag = isText.get(columnId);
      if (isTextTag === undefined) throw malformed(table, tsid, `has no tag column ${columnId}`);
      if (columnId <= before) throw malformed(table, tsid, `has its tag columns in another order`);
      if (isTextTag && !isUtf8(value)) throw malformed(table, tsid, `takes only UTF-8 in tag column ${columnId}`);
      before = columnId;
    }
    if (slices.isOver(1)) await slices.yield();
  }
}

function malformed({ name }: Table, tsid: bigint, reason: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `definition of series ${tsid.toString(16)}: table "${name}" ${reason}`);
}
