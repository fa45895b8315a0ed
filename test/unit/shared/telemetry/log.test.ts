import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock, type Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { openLog, type Log, type LogOptions } from '#shared/telemetry/log';
import { parseLogFilter } from '#shared/telemetry/log-filter';
import { countLogLines, Metrics } from '#shared/telemetry/metrics';

const clock: Clock = { ...systemClock, nowMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) };

function open(options: Partial<LogOptions>): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): unknown => lines.push(line);
  return { log: openLog({ filter: 'info', format: 'json', coloured: false, clock, write, ...options }), lines };
}

describe('parseLogFilter', () => {
  it('returns the level of the longest listed prefix', () => {
    const filter = parseLogFilter('warn,gateway=debug,gateway.http=error,ingester');
    expect(filter.levelOf('querier')).to.equal('warn');
    expect(filter.levelOf('gateway')).to.equal('debug');
    expect(filter.levelOf('gateway.query')).to.equal('debug');
    expect(filter.levelOf('gateway.http.body')).to.equal('error');
    expect(filter.levelOf('gatewayish')).to.equal('warn');
    expect(filter.levelOf('ingester.wal')).to.equal('trace');
  });

  it('reads numbers, any letter case, and a line break at the end', () => {
    expect(parseLogFilter('4').levelOf('x')).to.equal('debug');
    expect(parseLogFilter('0').levelOf('x')).to.equal('off');
    expect(parseLogFilter('DEBUG\n').levelOf('x')).to.equal('debug');
    expect(parseLogFilter('info\n').text).to.equal('info');
  });

  it('refuses invalid filters', () => {
    for (const text of ['', 'info,', 'a=b', 'a=info=x', '=info', 'a b', '6', 'warning', 'inf', 'info,gatway']) {
      expect(() => parseLogFilter(text), text).to.throw(AlmanacError, `Invalid filter "${text}"`);
    }
  });
});

describe('the parts of the program', () => {
  it('can each be listed alone', () => {
    const paths = ['services', 'shared'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
    const sources = paths.filter((path) => path.endsWith('.ts'));
    const parts = sources.flatMap((path) =>
      Array.from(readFileSync(path, 'utf8').matchAll(/component: '([^']+)'/g), ([, part]) => part),
    );
    expect(parts).to.include('gateway.http');
    for (const part of parts) expect(parseLogFilter(part).levelOf(part), part).to.equal('trace');
  });
});

describe('openLog', () => {
  it('writes one JSON object per line with time, level, component and fields', () => {
    const { log, lines } = open({});
    log.logger.child({ component: 'gateway.http', requestId: 'r1' }).info({ durationMs: 5 }, 'request done');
    expect(JSON.parse(lines[0])).to.deep.equal({
      level: 'info',
      time: '2026-01-02T03:04:05.678Z',
      component: 'gateway.http',
      requestId: 'r1',
      durationMs: 5,
      msg: 'request done',
    });
    expect(lines[0].endsWith('\n')).to.equal(true);
  });

  it('writes text for people, with the stack of an error indented', () => {
    const { log, lines } = open({ format: 'text' });
    log.logger.child({ component: 'x' }).warn({ path: 'a b', count: 2, error: new RangeError('odd') }, 'it broke');
    expect(lines[0]).to.match(
      /^2026-01-02T03:04:05\.678Z WARN {2}x: it broke path="a b" count=2\n {4}RangeError: odd\n {8}at /,
    );
  });

  it('changes the filter while it runs, also for existing loggers', () => {
    const { log, lines } = open({});
    const child = log.logger.child({ component: 'gateway.http' });
    child.debug({}, 'unseen');
    log.setFilter('off,gateway=debug');
    child.debug({}, 'seen');
    log.logger.error({}, 'unseen');
    expect(() => log.setFilter('?')).to.throw('Invalid filter');
    expect(log.filter.text).to.equal('off,gateway=debug');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).to.deep.equal(['seen']);
  });

  it('adds later fields to the lines of existing loggers too', () => {
    const { log, lines } = open({});
    const child = log.logger.child({ component: 'x' });
    log.setFields({ role: 'ingester' });
    child.info({}, 'one');
    log.setFields({ nodeId: 7 });
    child.info({}, 'two');
    expect(JSON.parse(lines[0])).to.include({ component: 'x', role: 'ingester' }).and.not.to.have.property('nodeId');
    expect(JSON.parse(lines[1])).to.include({ component: 'x', role: 'ingester', nodeId: 7 });
  });

  it('counts the lines that it writes', async () => {
    const metrics = new Metrics({ unprefixedProcess: false });
    const { log } = open({ onLine: countLogLines(metrics) });
    log.logger.info({}, 'one');
    log.logger.debug({}, 'not written');
    expect(await metrics.print()).to.contain('almanac_log_lines_total{level="info",component="main"} 1\n');
  });
});

describe('Metrics', () => {
  it('gives every name the prefix and returns the same metric for the same name', async () => {
    const metrics = new Metrics({ unprefixedProcess: false });
    metrics.counter({ name: 'things_total', help: 'things' }).inc();
    metrics.counter({ name: 'things_total', help: 'things' }).inc();
    metrics.gauge({ name: 'level', help: 'level' }).set(3);
    metrics.histogram({ name: 'wait_seconds', help: 'wait', buckets: [1] }).observe(0.5);
    const printed = await metrics.print();
    expect(printed).to.contain('almanac_things_total 2\n');
    expect(printed).to.contain('almanac_level 3\n');
    expect(printed).to.contain('almanac_wait_seconds_bucket{le="1"} 1\n');
    const names = printed.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(names.filter((line) => !line.startsWith('almanac_'))).to.deep.equal([]);
    expect(() => metrics.gauge({ name: 'things_total', help: 'things' })).to.throw('is not a gauge');
  });

  it('adds process metrics without the prefix if configured', async () => {
    const printed = await new Metrics({ unprefixedProcess: true }).print();
    expect(printed).to.match(/^# TYPE process_cpu_seconds_total counter$/m);
    expect(printed).to.match(/^process_cpu_seconds_total \d/m);
    expect(printed).not.to.match(/^nodejs_/m);
  });
});
