import { isUtf8 } from 'node:buffer';

import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeTags, type SeriesDefinition } from '#shared/rowbatch/definitions';
import { dataType } from '#shared/schema/data-type';
import { tagsOf } from '#shared/schema/table-schema';

/**
 * Series stay for ever, so what a file of series could not take, or would take as something else, must be refused before
 * anything of its batch is kept.
 *
 * @throws `invalid_arguments` unless all tags are columns of the table, in order, with values of their types.
 */
export function checkDefinitions(table: Table, definitions: readonly SeriesDefinition[]): void {
  if (definitions.length === 0) return;
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
  }
}

function malformed({ name }: Table, tsid: bigint, reason: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `definition of series ${tsid.toString(16)}: table "${name}" ${reason}`);
}
