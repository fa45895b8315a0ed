import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { column, NO_FOLDER, TIME, type MetadataUnderTest, type StartMetadata } from '../support/metadata-rig.js';

const call = ownCall('test');

/** Effects of table options when writers create and widen tables. */
export function optionsContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: options of tables`, () => {
    let metadata: MetadataUnderTest;
    let service: MetadataService;

    beforeEach(async () => {
      metadata = await start(systemClock);
      service = metadata.service;
      await service.registerNode({ role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER }, call);
    });

    afterEach(() => metadata.stop());

    it('adds columns to a table of metrics only for metrics', async () => {
      const widened = async (field: string, physical: Readonly<Record<string, string>>): Promise<unknown> => {
        const tables = [{ name: 'metrics', columns: [column(field, 'Float64', 'field'), TIME], options: physical }];
        return (await service.ensureTables({ database: 'public', tables, create: true }, call)).tables[0].columns;
      };
      const made = await widened('value', { physical_metric_table: 'true' });
      expect(await widened('v', {})).to.deep.equal(made);
      expect(await widened('start', { physical_metric_table: 'true' })).to.have.length(3);
    });

    it('gives a table the merge mode of its database unless the request names another', async () => {
      await service.createDatabase({ name: 'db', options: { merge_mode: 'last_row' }, ifNotExists: false }, call);
      const tables = [true, false].map((isDefaultMergeMode) => {
        const options = { ttl: '7days', merge_mode: 'last_non_null' };
        return { name: `t_${isDefaultMergeMode}`, columns: [TIME], options, isDefaultMergeMode };
      });
      const made = await service.ensureTables({ database: 'db', tables, create: true }, call);
      expect(made.tables.map(({ options }) => options)).to.deep.equal([
        { ttl: '7days', merge_mode: 'last_row' },
        { ttl: '7days', merge_mode: 'last_non_null' },
      ]);
    });
  });
}
