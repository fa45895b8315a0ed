import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, type HttpApi } from './almanac.js';
import { runAlmanac, type ProgramEnd } from './program.js';
import { tempFolder } from './temp-folder.js';

/** Many segments, and merges of them, within seconds. */
export const SMALL = {
  ALMANAC_MEMORY__LIMIT: '512MiB',
  ALMANAC_INGESTER__FLUSH_BYTES: '64KiB',
  ALMANAC_WAL__FILE_SIZE: '256KiB',
};

export const ROWS = [
  ['a', 1],
  ['b', 2],
  ['a', 3],
];

export interface ListedFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Servers, `almanac backup` and `almanac restore` as programs, and folders for them. */
export class BackupRig {
  readonly cleanUps: (() => unknown)[] = [];

  async cleanUp(): Promise<void> {
    for (const cleanUp of this.cleanUps.splice(0).reverse()) await cleanUp();
  }

  folder(): string {
    return tempFolder((cleanUp) => this.cleanUps.push(cleanUp));
  }

  async start(data: string, environment: Readonly<Record<string, string>> = SMALL): Promise<Almanac> {
    const server = await Almanac.start(data, { environment });
    this.cleanUps.push(() => server.kill());
    return server;
  }

  backup(server: { folder: string; url: string }, target: string, ...flags: string[]): Promise<ProgramEnd> {
    return runAlmanac(['backup', target, '--data-dir', server.folder, '--host', server.url, ...flags]);
  }

  restore(source: string, data: string, ...flags: string[]): Promise<ProgramEnd> {
    return runAlmanac(['restore', source, '--data-dir', data, ...flags]);
  }

  async done(end: Promise<ProgramEnd>): Promise<string> {
    const { code, stdout, stderr } = await end;
    expect(code, stderr).to.equal(0);
    expect(stderr).to.equal('');
    return stdout;
  }

  async refused(end: Promise<ProgramEnd>, reason: string, exitCode = 1): Promise<void> {
    const { code, stdout, stderr } = await end;
    expect(stderr).to.contain(reason).and.not.to.contain('    at ');
    expect(code, stderr).to.equal(exitCode);
    expect(stdout).to.equal('');
  }

  async write(server: HttpApi, lines: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { status, text } = await server.post('/v1/lineproto/write', lines, headers);
    expect(status, text).to.equal(204);
  }

  async rows(server: HttpApi, statement: string): Promise<unknown[][]> {
    const answer = await server.sql(statement);
    expect(answer.status, `${statement}: ${answer.text}`).to.equal(200);
    return answer.rows;
  }

  /** A server with segments and rows in its log, those that `expectRows` expects. */
  async startWithRows(): Promise<Almanac> {
    const server = await this.start(this.folder());
    await this.write(server, 'm,h=a v=1 1\nm,h=b v=2 2');
    await this.rows(server, "ADMIN flush_table('m')");
    await this.write(server, 'm,h=a v=3 3\nother v=1 1');
    return server;
  }

  async expectRows(server: HttpApi): Promise<void> {
    expect(await this.rows(server, 'SELECT h, v FROM m ORDER BY v')).to.deep.equal(ROWS);
    expect(await this.rows(server, 'SELECT v FROM other')).to.deep.equal([[1]]);
  }
}

/** What a backup lists. */
export function filesOf(backup: string): ListedFile[] {
  return (JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')) as { files: ListedFile[] }).files;
}
